#include "lib/config/adopt.h"

#include <doctest/doctest.h>

namespace packline {
namespace {

Job adopted() {
  Job job;
  job.identity = {{"seed", "17"}, {"sources.0.content", "aa"}};
  return job;
}

// L7: whoever waits can say for whom. A producer that came back with other data is not "not heard".
TEST_CASE("adopt: a producer that runs another job by now is refused by the setting's name") {
  CHECK(
      other_job_sentence(adopted(), {{"seed", "18"}, {"sources.0.content", "aa"}}, "producer 1") ==
      "producer 1 runs another job than this line (seed: 18, was 17): it is not listened to; give "
      "every "
      "process the same job and data, or start the whole line again");
}

TEST_CASE("adopt: data that changed under the line is called that") {
  const std::string said =
      other_job_sentence(adopted(), {{"seed", "17"}, {"sources.0.content", "bb"}}, "producer 0");
  CHECK(said.find("(sources.0.content: bb, was aa), its data or model are not what they were") !=
        std::string::npos);
}

TEST_CASE("adopt: equal settings under another fingerprint are no job") {
  CHECK(other_job_sentence(adopted(), adopted().identity, "producer 0")
            .find("its fingerprint is not that of its settings") != std::string::npos);
}

}  // namespace
}  // namespace packline
