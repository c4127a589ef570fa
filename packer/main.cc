#include "lib/app/command_line.h"
#include "lib/app/role_main.h"
#include "packer/packer_service.h"

int main(int argc, char** argv) {
  using namespace packline;
  const RoleCommand command = {
      .name = "packline-packer",
      .description = "turns windows into packs and sends each sink its slice",
      .index_flag = ""};
  return role_main(command, argc, argv,
                   [](Job job, const RoleOptions& o, Signals& signals) -> Result<Exit> {
                     auto service = PackerService::open(std::move(job), {o.http_port_file});
                     if (!service) return tl::unexpected(service.error());
                     return (*service)->run(signals);
                   });
}
