#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/config/job.h"
#include "lib/corpus/say.h"
#include "lib/corpus/source.h"
#include "lib/delivery/ledger.h"
#include "lib/delivery/place.h"
#include "lib/encode/pool.h"
#include "lib/sample/samples.h"

namespace packline {

// A window as it was closed: what a producer sends to packers.
struct ClosedWindow {
  WindowKey key;
  std::string before, after;  // positions
  bool last = false;
  std::vector<std::uint32_t> packs;  // how many samples each has, in the order of delivery
  Ledger ledger;
  Samples samples;  // pack by pack
};

// One lost record or sample, for the quarantine file.
struct Loss {
  WindowKey window;
  std::uint64_t lane_record = 0;  // place in the lane's order, for cutting the file at a seek
  std::string reason;             // a word of law L4
  std::string where;              // "file:line"
  std::string id;                 // of the record or the sample
  std::string cause;              // one sentence
  std::uint64_t tokens = 0;
};

// The loss of a sample that does not fill a pack for every rank; its place is still to be filled
// in.
Loss remainder_loss(std::string id, std::uint64_t tokens);
// The error of a place that the job does not have (kWrongJob).
tl::unexpected<Error> no_such_lane(std::uint32_t lane, const Place& place, std::uint64_t lanes,
                                   std::uint64_t epochs);

// Makes the windows of a job: opens sources, reads a lane's records in the epoch's order, has them
// encoded on `encode.threads` worker threads, closes windows. The result is a function of (job,
// place) alone (law L1), whatever was made before and however many threads worked.
//
// make() may be called by one thread at a time. It keeps, for each lane, what was read beyond the
// last window, so that going on in order reads nothing twice; another place starts afresh. Memory:
// the settings' windows, see memory_bound(). Lanes do not wait for each other: while the records of
// one are being encoded try_make() can make the windows of others.
class WindowMaker {
 public:
  // Opens everything; the first error of the job's sources, encoder or state folder is returned.
  // `say` is told what takes long.
  static Result<std::unique_ptr<WindowMaker>> open(const Job& job, const Say& say = {});
  // The same over sources and encoders that are open already, one source for each of the job's;
  // for pack.plan: streaming.
  static std::unique_ptr<WindowMaker> over(const Job& job,
                                           std::vector<std::unique_ptr<Source>> sources,
                                           std::unique_ptr<Encoders> encoders);
  static std::unique_ptr<WindowMaker> over(const Job& job,
                                           std::vector<std::unique_ptr<Source>> sources,
                                           std::unique_ptr<Encoder> encoder);
  virtual ~WindowMaker() = default;

  // The window at `place` of a lane. Errors: kDataRefused (over_long: error, on_bad_record: stop, a
  // source that changed); a position that does not fit the job.
  // `losses` gets each loss counted in this window's ledger, in order; after an error nothing.
  Result<ClosedWindow> make(std::uint32_t lane, const Place& place, std::vector<Loss>& losses);

  // The same, or nothing while records of it are being encoded; asking again goes on from there.
  virtual Result<std::optional<ClosedWindow>> try_make(std::uint32_t lane, const Place& place,
                                                       std::vector<Loss>& losses) = 0;
  // Until records came back from the encoders, or somebody calls wake() (from any thread).
  virtual void wait() = 0;
  virtual void wake() = 0;

  // Asks a make() that runs in another thread to stop soon with ExitCode::kTerminated; those that
  // follow do the same.
  virtual void cancel() = 0;

  // Whether a place can still be made, of sources that cannot go back. Error (kDataRefused): why
  // not. Not while make() runs.
  virtual Status reaches(const Place&) const { return {}; }

  // From any thread: what make() waits for now, as "the pipe P, whose writer sends nothing", or "".
  virtual std::string waits() const { return ""; }

  // How many packs each epoch has, over all ranks; 0 when that is not known beforehand.
  virtual std::uint64_t packs_in_every_epoch() { return 0; }

  // How many records the job's split has, each once; counted up to `limit`, so that more are not
  // looked at.
  virtual std::uint64_t records_taken(std::uint64_t limit) const = 0;
  virtual std::uint64_t records() const = 0;                        // of all sources, each once
  virtual std::uint64_t records_in(std::uint64_t epoch) const = 0;  // of the epoch's order
};

// For records_taken().
std::uint64_t count_taken(const std::vector<std::unique_ptr<Source>>& sources,
                          const Selection& selection, std::uint64_t limit);

// Opens what encodes a job's records; the first error is returned.
using OpenEncoders = std::function<Result<std::unique_ptr<Encoders>>(const Job& job)>;
// In this process, on encode.threads threads.
Result<std::unique_ptr<Encoders>> open_encoders_here(const Job& job);

// WindowMaker::open(), and job.identity and job.fingerprint filled in from what was opened.
Result<std::unique_ptr<WindowMaker>> open_job(Job& job, const Say& say = {},
                                              const OpenEncoders& encoders = open_encoders_here);

// Only that: opens sources and encoder, fills in job.identity and job.fingerprint.
Status identify_job(Job& job);

}  // namespace packline
