#include "lib/app/command_line.h"
#include "lib/app/role_main.h"
#include "sink/sink_service.h"

int main(int argc, char** argv) {
  using namespace packline;
  const RoleCommand command = {.name = "packline-sink",
                               .description = "serves the packs of one dp_rank to its trainer",
                               .index_flag = "--dp-rank",
                               .progress_file = true};
  return role_main(
      command, argc, argv, [](Job job, const RoleOptions& o, Signals& signals) -> Result<Exit> {
        if (Status ok = check_index(o.index, job.line.sinks.size(), "--dp-rank", "line.sinks");
            !ok) {
          return tl::unexpected(ok.error());
        }
        auto service =
            SinkService::open(std::move(job), {o.index, o.http_port_file, o.progress_file});
        if (!service) return tl::unexpected(service.error());
        return (*service)->run(signals);
      });
}
