#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fd.h"
#include "lib/base/result.h"
#include "lib/config/job.h"
#include "lib/windows/window_maker.h"

namespace packline {

// One line of the quarantine, without the line's end: a JSON object with the keys reason, source
// ("file:line"), id, tokens, cause, epoch, window (of the epoch, over all lanes), lane_record.
// Valid JSON whatever bytes the texts hold: what is not UTF-8 becomes U+FFFD, and a text is cut
// behind 4,096 bytes.
std::string quarantine_line(const Loss& loss, std::uint32_t lanes);

// The files in which a user finds what was lost and why (law L4): one a lane and epoch,
// <state>/<name>-<fingerprint>/quarantine/epoch-<e>.lane-<l>.jsonl, in the lane's order. Each loss
// stands there once however often its window was made: where a lane is read again, the lines from
// there on are cut off first, and so is a line that a killed process left half written.
//
// Call write() for every window made, before it is sent, from one thread at a time. One process
// writes a lane's files: the first that has something to write locks <folder>/lane-<l>.lock until
// it ends, any other's losses are counted and not described. Nothing is synced to disk: what a
// power failure takes is made again only where the stream goes on before it.
class Quarantine {
 public:
  explicit Quarantine(const Job& job);  // needs job.fingerprint; touches no file

  // Error (kWrongJob): the file could not be written, a full disk. The loss is counted in the
  // window's ledger all the same, so the line can go on; later calls try again and are silent until
  // one has worked.
  Status write(const ClosedWindow& window, const std::vector<Loss>& losses);

  const std::string& folder() const { return folder_; }
  std::uint64_t unwritten() const { return unwritten_; }  // losses that could not be written

 private:
  // What this process knows of a lane's file: it holds what lies before this place.
  struct Known {
    bool known = false;
    std::uint64_t epoch = 0;
    std::uint64_t index = 0;
  };

  std::string path_of(const WindowKey& key) const;
  Status own(std::uint32_t lane);
  Status append(const ClosedWindow& window, const std::vector<Loss>& losses);

  std::string folder_;
  std::vector<Known> lanes_;
  std::vector<Fd> locks_;  // by lane; those that were taken
  std::uint64_t unwritten_ = 0;
  bool failing_ = false;
};

}  // namespace packline
