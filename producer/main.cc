#include <fmt/format.h>

#include "lib/app/command_line.h"
#include "lib/app/role_main.h"
#include "producer/producer_service.h"

int main(int argc, char** argv) {
  using namespace packline;
  const RoleCommand command = {
      .name = "packline-producer",
      .description = "reads records, encodes them, closes windows and sends them to packers",
      .index_flag = "--index",
      .data = Data::kHere};
  return role_main(
      command, argc, argv, [](Job job, const RoleOptions& o, Signals& signals) -> Result<Exit> {
        if (Status ok =
                check_index(o.index, job.line.producers.size(), "--index", "line.producers");
            !ok) {
          return tl::unexpected(ok.error());
        }
        auto service = ProducerService::open(std::move(job), {o.index, o.http_port_file});
        if (!service) return tl::unexpected(service.error());
        return (*service)->run(signals);
      });
}
