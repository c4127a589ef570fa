#include "launcher/encoder_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/config/addresses.h"
#include "lib/telemetry/json_dump.h"

namespace packline {
namespace {

using Json = nlohmann::ordered_json;

double seconds(Duration d) { return static_cast<double>(to_ms(d)) / 1000; }

void put_tokenizer(Json& settings, const Job& job) {
  const EncodeSettings& e = job.encode;
  settings["kind"] = "hf";
  settings["model"] = e.model;
  settings["train"] = e.train == EncodeSettings::Train::kAll ? "all" : "assistant";
  settings["add_bos"] = e.add_bos;
  settings["add_eos"] = e.add_eos;
  settings["chats"] = std::ranges::any_of(
      job.sources, [](const SourceSettings& s) { return s.format == Format::kChat; });
}

}  // namespace

ChildSpec encoder_spec(const Job& job, const std::vector<std::string>& producers, std::uint32_t i,
                       log::Format log_format, std::string_view prefix) {
  const EncodeSettings& e = job.encode;
  Json settings = {{"job", job.name},
                   {"identity", process_identity(e)},
                   {"warn_after_s", seconds(job.deliver.times.warn_after)},
                   {"fail_after_s", seconds(job.deliver.times.fail_after)}};
  if (e.kind == EncodeKind::kHf) {
    put_tokenizer(settings, job);
  } else {
    settings["kind"] = "python";
    settings["function"] = e.function;
    settings["path"] = e.path;
  }
  Json connect = Json::array();
  for (const std::string& base : producers) connect.push_back(port_of(base, kEncodersPort));
  settings["connect"] = std::move(connect);
  return {.name = fmt::format("{}encode-{}", prefix, i),
          .argv = {e.python, "-m", "packline.encode", "--settings", dump_json(settings), "--index",
                   std::to_string(i), "--log-format", std::string(name_of(log_format))}};
}

}  // namespace packline
