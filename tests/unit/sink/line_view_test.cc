#include "sink/line_view.h"

#include <doctest/doctest.h>

namespace packline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Instant at(int s) { return Instant{seconds(s)}; }

// Window 37 of four lanes is lane 1's window 9; producer 1 of 2 makes it. This is sink 3.
constexpr std::uint32_t kLanes = 4;
const WindowKey kWindow{1, 0, 9};

struct View {
  View() : line(2, 3, 4, at(0)) {
    notice.producer = 1;
    notice.packers = 2;
    notice.lanes = {{1, true, 0, 10, 1, false, 0}};
  }
  std::string about(int heard = 100, int now = 100) {
    line.on_notice(notice, at(heard));
    return line.about(kWindow, kLanes, at(now));
  }
  LineView line;
  Notice notice;
};

// L7: "rank 3 has waited 30 s for step 1,204: sink 3 misses window 37; producer 0 sent it 12 s ago
// to a packer (2 connected), its lease ends in 3 s".
TEST_CASE("LineView: a window on its way") {
  View v;
  v.notice.sent = {{kWindow, 2, 1000, 1, 9000}, {kWindow, 3, 12000, 1, 3000}};
  CHECK(v.about() ==
        "producer 1 sent it 12 s ago to a packer (2 connected), its lease ends in 3 s");
  CHECK(v.about(100, 101) ==
        "producer 1 sent it 13 s ago to a packer (2 connected), its lease ends in 2 s");
  v.notice.sent[1].tries = 3;
  v.notice.sent[1].lease_left_ms = 0;
  CHECK(v.about() ==
        "producer 1 sent it 12 s ago to a packer (2 connected), for the 3. time, its lease has "
        "ended: it is "
        "about to be sent again");
}

TEST_CASE("LineView: a producer that was never heard, or has gone silent") {
  View v;
  CHECK(v.line.about(kWindow, kLanes, at(40)) ==
        "producer 1, which makes it, has not been heard in 40 s: is it running?");
  CHECK(v.about(100, 112) == "producer 1, which makes it, has not been heard for 12 s");
  CHECK(v.about(100, 102) ==
        "producer 1 (last heard 2 s ago) has it and is about to send it (2 packers connected)");
}

TEST_CASE("LineView: a window that is ready and no packer takes") {
  View v;
  v.notice.unsent_ms = 7000;
  CHECK(v.about() ==
        "it is ready at producer 1, but no packer has taken a window for 7 s (2 connected)");
  v.notice.packers = 0;
  CHECK(v.about() == "it is ready at producer 1, but no packer is connected: start one");
}

TEST_CASE("LineView: a window that is being made, or not yet") {
  View v;
  v.notice.lanes = {{1, true, 0, 9, 0, true, 4000}};
  CHECK(v.about() == "producer 1 has been making it for 4 s");
  v.notice.encoding = "records to be encoded from an encoder process, since 3 s";
  CHECK(v.about() ==
        "producer 1 has been making it for 4 s; it waits for records to be encoded from an encoder "
        "process, since 3 s");
  v.notice.encoding = "";
  v.notice.lanes = {{1, true, 0, 8, 0, true, 4000}};
  CHECK(v.about() == "producer 1 has been making window 33 of that lane for 4 s");
  v.notice.lanes = {{1, true, 0, 9, 0, false, 0}};
  CHECK(v.about() == "producer 1 is about to make it");
  v.notice.lanes = {{1, false, 0, 0, 0, false, 0}};
  CHECK(v.about() == "producer 1 has not heard yet what any sink wants: can the sinks reach it?");
}

TEST_CASE("LineView: a window whose lane some rank wants from nowhere") {
  View v;
  v.notice.lanes = {{1, true, 0, 8, 0, false, 0, "", RefusedPlace{7, "no position of this job"}}};
  CHECK(v.about() ==
        "producer 1 cannot make window 33 of that lane, for some rank wants it at a place of no "
        "such job: no position of this job");
}

TEST_CASE("LineView: a window whose source is silent or cannot go back to it") {
  View v;
  v.notice.lanes = {{1, true, 0, 9, 0, true, 12'000, "the pipe P, whose writer sends nothing"}};
  CHECK(v.about() ==
        "producer 1, which makes it, has waited 12 s for the pipe P, whose writer sends nothing");
  v.notice.lanes = {
      {1, true, 0, 8, 0, false, 0, "", RefusedPlace{7, "a pipe cannot go back", true}}};
  CHECK(v.about() ==
        "producer 1 cannot make window 33 of that lane, for some rank wants it at a place that is "
        "gone: a pipe cannot go back");
}

// PROTOCOL: ranks more than the credit apart wait for each other for ever; name it.
TEST_CASE("LineView: all credit waits for a slower rank") {
  View v;
  v.notice.lanes = {{1, true, 0, 7, 4, false, 0}};
  v.notice.slowest_rank = 0;
  v.notice.slowest_silent_ms = 200;
  CHECK(v.about() ==
        "producer 1 cannot make it yet: all its credit (4 windows a lane) waits for dp_rank 0, "
        "which wants "
        "window 13");
  v.notice.slowest_silent_ms = 20000;
  CHECK(v.about() ==
        "producer 1 cannot make it yet: all its credit (4 windows a lane) waits for dp_rank 0, "
        "which wants "
        "window 13, whose sink has not reported for 20 s");
}

TEST_CASE("LineView: finished is when every producer has said so, once") {
  View v;
  v.notice.finished = true;
  v.line.on_notice(v.notice, at(1));
  CHECK_FALSE(v.line.all_finished());
  v.notice.finished = false;  // a new life of it
  v.line.on_notice(v.notice, at(2));
  v.notice.producer = 0;
  v.notice.finished = true;
  v.line.on_notice(v.notice, at(3));
  CHECK(v.line.all_finished());
  v.notice.producer = 2;  // none of this line
  v.line.on_notice(v.notice, at(9));
  CHECK(v.line.heard_any() == at(3));
}

TEST_CASE("LineView: of the silent producers the one silent for longest is named") {
  View v;
  CHECK_FALSE(v.line.silent_producer(seconds(5), at(5)));
  v.line.on_notice(v.notice, at(4));
  CHECK(v.line.silent_producer(seconds(5), at(6)) == std::pair(0u, Duration(seconds(6))));
  v.notice.producer = 0;
  v.notice.finished = true;  // it may be silent
  v.line.on_notice(v.notice, at(4));
  CHECK(v.line.silent_producer(seconds(5), at(10)) == std::pair(1u, Duration(seconds(6))));
}

}  // namespace
}  // namespace packline
