#include "launcher/encoder_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/config/addresses.h"
#include "lib/telemetry/json_dump.h"

namespace packline {

ChildSpec encoder_spec(const Job& job, const std::vector<std::string>& producers, std::uint32_t i,
                       log::Format log_format) {
  const EncodeSettings& e = job.encode;
  nlohmann::ordered_json settings = {
      {"job", job.name},
      {"identity", process_identity(e)},
      {"kind", "python"},
      {"function", e.function},
      {"path", e.path},
      {"warn_after_s", static_cast<double>(to_ms(job.deliver.times.warn_after)) / 1000},
      {"fail_after_s", static_cast<double>(to_ms(job.deliver.times.fail_after)) / 1000}};
  auto connect = nlohmann::ordered_json::array();
  for (const std::string& base : producers) connect.push_back(port_of(base, kEncodersPort));
  settings["connect"] = std::move(connect);
  return {.name = fmt::format("encode-{}", i),
          .argv = {e.python, "-m", "packline.encode", "--settings", dump_json(settings), "--index",
                   std::to_string(i), "--log-format", std::string(name_of(log_format))}};
}

}  // namespace packline
