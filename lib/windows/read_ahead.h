#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/corpus/order.h"
#include "lib/corpus/selection.h"
#include "lib/corpus/source.h"
#include "lib/encode/pool.h"
#include "lib/windows/pipe_order.h"

namespace packline {

using Sources = std::vector<std::unique_ptr<Source>>;

// One record of a lane, back from the encoder.
struct EncodedRecord {
  std::uint64_t number = 0;  // in the lane's order
  RecordRef ref;
  bool passed_over = false;  // not of this stream: it was not read
  Encoded encoded;
};

// Reads the records of lanes and has them encoded, ahead of whoever takes them: group by group (as
// many records as the pool likes, or 1 MiB), through one EncodePool, for each lane in the order
// asked. What comes back early, of this lane or another, is put by. One thread at a time.
//
// Bounds: the pool's limit of groups, and kAheadBytes of records, in the pool; the same once more
// for what is put by for other lanes, and of each lane what it was read too far. A single record
// may be larger than that; then it is alone.
class ReadAhead {
 public:
  static constexpr std::size_t kGroupItems = 4096;  // with those that are passed over
  static constexpr std::size_t kGroupBytes = 1U << 20U;
  static constexpr std::uint64_t kAheadBytes = 16U << 20U;
  // `sources` must outlive it. Records that `selection` does not take are given without being read.
  ReadAhead(const Sources& sources, std::unique_ptr<EncodePool> pool, std::uint64_t seed,
            std::uint32_t lanes, Selection selection = {});

  // From now on the lane gives the records `first` of its order, then those from `head` to its end.
  // What was read for it before is forgotten.
  void restart(std::uint32_t lane, std::shared_ptr<const EpochOrder> order, std::uint64_t epoch,
               const std::vector<std::uint64_t>& first, std::uint64_t head);
  // The same for a lane that reads a pipe, whose order grows; the lane's end is where the pipe's
  // is. `pipe` must outlive it. What has not come is waited for by has_next() and next() alone.
  void restart(std::uint32_t lane, PipeOrder& pipe, std::uint64_t epoch,
               const std::vector<std::uint64_t>& first, std::uint64_t head);
  // The same for chosen places of the whole order, whatever lanes they are of; `number` of what
  // comes back is that place.
  void read_places(std::uint32_t lane, std::shared_ptr<const EpochOrder> order, std::uint64_t epoch,
                   std::vector<std::uint64_t> places);
  void stop(std::uint32_t lane);

  // Whether the lane has a record that next() has not given; of a pipe, as far as is known.
  bool more(std::uint32_t lane) const;
  // The same, but waits for a pipe to tell. Error: that record cannot be read.
  Result<bool> has_next(std::uint32_t lane);
  // The lane's next record; there must be one. Nothing while it is being encoded; waits for a pipe.
  // Error: its bytes could not be read, or nobody encodes any more.
  Result<std::optional<EncodedRecord>> try_next(std::uint32_t lane);
  // Likewise; waits for the encoder, too.
  Result<EncodedRecord> next(std::uint32_t lane);
  // Until some group came back from the pool, or somebody calls wake() (from any thread).
  void wait() { pool_->wait(); }
  void wake() { pool_->wake(); }

  // Submits what fits until about `tokens` more are on their way for this lane. `urgent`: for the
  // lane that next() will be asked for now.
  void fill(std::uint32_t lane, std::uint64_t tokens, bool urgent);

 private:
  struct Item {
    std::uint64_t number = 0;
    RecordRef ref;
    std::uint64_t bytes = 0;
    bool passed_over = false;
  };
  struct Group {
    std::uint64_t bytes = 0;
    std::vector<Item> items;
    bool back = false;             // from the pool, and put by
    std::vector<Encoded> encoded;  // of those not passed over, once it is back
    std::size_t next = 0, next_encoded = 0;
  };
  struct InPool {  // by its number there
    std::uint32_t lane = 0;
    std::uint64_t generation = 0;
    std::uint64_t bytes = 0;
    std::uint64_t place = 0;  // of the lane's groups, counted from its restart
  };
  struct Lane {
    std::uint64_t generation = 0;  // groups of an earlier one are thrown away
    std::shared_ptr<const EpochOrder> order;
    std::uint64_t epoch = 0;
    std::uint64_t offset = 0, stride = 1;  // record number n stands at offset + n * stride
    std::deque<std::uint64_t> first;       // to be read before `head`
    std::uint64_t head = 0, end = 0;       // records to be read
    PipeOrder* pipe = nullptr;             // where the records come from one
    std::optional<Error> unreadable;       // of the record that would be read next
    std::deque<Group> groups;              // of this generation, in order: in the pool or put by
    std::uint64_t groups_gone = 0;         // used up, before the first of these
    std::uint64_t bytes_ahead = 0;         // in the pool and put by
  };

  bool unread(const Lane& lane) const;
  bool room(const Lane& lane, bool urgent) const;
  bool settled(Lane& lane, std::uint64_t number, bool wait);
  bool submit_group(std::uint32_t lane, bool wait = false);
  Result<PoolRecord> read(const Lane& lane, const Item& item);
  Status take_groups();
  void put_by(EncodePool::Done done);

  const Sources& sources_;
  const std::uint64_t seed_;
  const std::uint32_t lane_count_;
  const Selection selection_;
  std::vector<Lane> lanes_;
  std::map<std::uint64_t, InPool> in_pool_;  // the pool's outstanding groups
  std::uint64_t bytes_in_pool_ = 0;
  std::uint64_t bytes_put_by_ = 0;
  std::size_t groups_put_by_ = 0;
  double tokens_a_byte_ = 0.25;  // of what came back so far; a guess before that
  std::uint64_t tokens_back_ = 0, bytes_back_ = 0;
  std::string scratch_;
  const std::unique_ptr<EncodePool> pool_;  // last: its threads end first
};

}  // namespace packline
