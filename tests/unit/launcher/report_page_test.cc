#include "launcher/report_page.h"

#include <doctest/doctest.h>

#include <string>

namespace packline {
namespace {

// An epoch of two packs whose every text is hostile.
struct Hostile {
  Job job;
  EpochCount count;

  Hostile() {
    job.name = "<script>n</script>";
    job.file = "\"><script>f</script>";
    job.pack.capacity = count.capacity = 16;
    job.deliver.dp_size = 2;
    job.sources.resize(1);
    job.sources[0].pattern = "<script>p</script>\xFF";
    count.packs = count.samples = 2;
    count.tokens = 20;
    count.next_fit_packs = 2;
    count.ranks.resize(2);
    count.details.lengths.add(10, 2);
    count.details.balance.add(std::vector<std::uint64_t>{100, 100});
    count.details.windows.add({2, 20});
    count.details.sources.push_back({2, 20, std::vector<std::uint64_t>(32)});
    Loss loss;
    loss.where = "<script>w</script>:3";
    loss.cause = "<script>c</script>\x1B]0;x\x07";
    count.details.losses["parse"] = {1, 0, {loss}};
  }

  std::string page() const {
    const Advice advice = advice_on(job, count);
    return report_page(job, count, advice, {{"parse", "<script>t</script>"}});
  }
};

TEST_CASE("report_page: names, places and causes stay text") {
  const std::string page = Hostile().page();
  CHECK(page.find("<script") == std::string::npos);
  for (const char* part : {"&lt;script&gt;n", "&lt;script&gt;f", "&lt;script&gt;p",
                           "&lt;script&gt;w", "&lt;script&gt;c", "&lt;script&gt;t"}) {
    CAPTURE(part);
    CHECK(page.find(part) != std::string::npos);
  }
  CHECK(page.find('\x1B') == std::string::npos);
  CHECK(page.find('\xFF') == std::string::npos);
}

TEST_CASE("report_page: loads nothing and follows the reader's colours") {
  const std::string page = Hostile().page();
  for (const char* part : {"src=", "href=", "url(", "@import", "http"}) {
    CAPTURE(part);
    CHECK(page.find(part) == std::string::npos);
  }
  CHECK(page.find("prefers-color-scheme: dark") != std::string::npos);
  CHECK(page.find("<b>Warning:</b>") != std::string::npos);  // not by its colour alone
}

TEST_CASE("report_page: an epoch of nothing is a page, too") {
  Job job;
  EpochCount count;
  count.capacity = job.pack.capacity;
  count.ranks.resize(1);
  const Advice advice = advice_on(job, count);
  const std::string page = report_page(job, count, advice, warnings_on(job, count, advice));
  CHECK(page.find("not one pack") != std::string::npos);
  CHECK(page.find("Nothing was lost or cut") != std::string::npos);
  CHECK(page.find("nan") == std::string::npos);
}

}  // namespace
}  // namespace packline
