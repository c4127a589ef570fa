#include "lib/windows/read_ahead.h"

#include <utility>

#include "lib/base/check.h"
#include "lib/base/random.h"
#include "lib/windows/record_id.h"

namespace packline {

ReadAhead::ReadAhead(const Sources& sources, std::unique_ptr<EncodePool> pool, std::uint64_t seed,
                     std::uint32_t lanes, Selection selection)
    : sources_(sources),
      seed_(seed),
      lane_count_(lanes),
      selection_(selection),
      lanes_(lanes),
      pool_(std::move(pool)) {}

void ReadAhead::restart(std::uint32_t lane, std::shared_ptr<const EpochOrder> order,
                        std::uint64_t epoch, const std::vector<std::uint64_t>& first,
                        std::uint64_t head) {
  stop(lane);
  Lane& l = lanes_[lane];
  l.end = order->lane_size(lane, lane_count_);
  l.order = std::move(order);
  l.epoch = epoch;
  l.offset = lane;
  l.stride = lane_count_;
  l.first.assign(first.begin(), first.end());
  l.head = head;
}

void ReadAhead::restart(std::uint32_t lane, PipeOrder& pipe, std::uint64_t epoch,
                        const std::vector<std::uint64_t>& first, std::uint64_t head) {
  restart(lane, pipe.order(), epoch, first, head);
  lanes_[lane].pipe = &pipe;
}

void ReadAhead::read_places(std::uint32_t lane, std::shared_ptr<const EpochOrder> order,
                            std::uint64_t epoch, std::vector<std::uint64_t> places) {
  stop(lane);
  Lane& l = lanes_[lane];
  l.order = std::move(order);
  l.epoch = epoch;
  l.first.assign(places.begin(), places.end());
}

void ReadAhead::stop(std::uint32_t lane) {
  Lane& l = lanes_[lane];
  for (const Group& group : l.groups) {
    if (!group.back) continue;
    --groups_put_by_;
    for (std::size_t i = group.next; i < group.items.size(); ++i)
      bytes_put_by_ -= group.items[i].bytes;
  }
  const std::uint64_t generation = l.generation + 1;
  l = Lane{};
  l.generation = generation;
}

bool ReadAhead::unread(const Lane& lane) const {
  return !lane.first.empty() || lane.head < lane.end;
}

bool ReadAhead::more(std::uint32_t lane) const {
  const Lane& l = lanes_[lane];
  return !l.groups.empty() || unread(l);
}

Result<bool> ReadAhead::has_next(std::uint32_t lane) {
  Lane& l = lanes_[lane];
  if (l.pipe == nullptr || !l.groups.empty()) return more(lane);
  const std::uint64_t number = l.first.empty() ? l.head : l.first.front();
  if (unread(l) && !l.unreadable) settled(l, number, true);
  if (l.unreadable) return tl::unexpected<Error>(*l.unreadable);
  return more(lane);
}

// Whether the order is known at a record of the lane; at the pipe's end, that is the lane's.
bool ReadAhead::settled(Lane& lane, std::uint64_t number, bool wait) {
  if (lane.pipe == nullptr) return true;
  const auto known = lane.pipe->settle(lane.offset + number * lane.stride, wait);
  lane.order = lane.pipe->order();
  if (!known) {
    lane.unreadable = known.error();
    return false;
  }
  if (*known == PipeOrder::Settled::kEnd) lane.end = lane.head;
  return *known == PipeOrder::Settled::kYes;
}

// Others than the urgent lane count what was put by as well, so that what nobody asks for cannot
// pile up.
bool ReadAhead::room(const Lane& lane, bool urgent) const {
  if (pool_->full()) return false;
  // What is put by behind a group that takes its time counts here too.
  if (urgent)
    return bytes_in_pool_ < kAheadBytes && lane.bytes_ahead < 2 * kAheadBytes &&
           lane.groups.size() < 2 * pool_->limit();
  return in_pool_.size() + groups_put_by_ < pool_->limit() &&
         bytes_in_pool_ + bytes_put_by_ < kAheadBytes;
}

Result<PoolRecord> ReadAhead::read(const Lane& lane, const Item& item) {
  const Source& source = *sources_[item.ref.source];
  const Result<RawRecord> raw = source.read(item.ref.record, scratch_);
  if (!raw) return tl::unexpected<Error>(raw.error());
  PoolRecord record;
  record.bytes.assign(raw->bytes);
  record.form = raw->form;
  record.source = &source.settings();
  record.id = record_id(item.ref);
  // Every evaluation is the same.
  const std::uint64_t drawn_in = selection_.set_aside ? 0 : lane.epoch;
  record.seed = derive(seed_, {static_cast<std::uint64_t>(Purpose::kRecord), drawn_in,
                               item.ref.source, item.ref.record, item.ref.copy});
  return record;
}

// Of a pipe it waits for the first of the group's records at most. False: there was none.
bool ReadAhead::submit_group(std::uint32_t lane, bool wait) {
  Lane& l = lanes_[lane];
  Group group;
  EncodePool::Group records;
  while (unread(l) && !l.unreadable && records.size() < pool_->group_records() &&
         group.items.size() < kGroupItems && group.bytes < kGroupBytes) {
    Item item;
    item.number = l.first.empty() ? l.head : l.first.front();
    if (!settled(l, item.number, wait && group.items.empty())) break;
    item.ref = l.order->at(l.offset + item.number * l.stride);
    item.passed_over = !selection_.takes(item.ref.source, item.ref.record);
    if (!item.passed_over) {
      Result<PoolRecord> record = read(l, item);
      if (!record) {
        l.unreadable = record.error();
        break;
      }
      item.bytes = record->bytes.size();
      group.bytes += item.bytes;
      records.push_back(std::move(*record));
    }
    group.items.push_back(item);
    if (l.first.empty()) {
      ++l.head;
    } else {
      l.first.pop_front();
    }
  }
  if (group.items.empty()) return false;
  l.bytes_ahead += group.bytes;
  bytes_in_pool_ += group.bytes;
  const std::uint64_t number = pool_->submit(std::move(records));
  in_pool_.emplace(number,
                   InPool{lane, l.generation, group.bytes, l.groups_gone + l.groups.size()});
  l.groups.push_back(std::move(group));
  return true;
}

// A group goes to its place in its lane, or away when the lane was restarted since.
void ReadAhead::put_by(EncodePool::Done done) {
  const auto at = in_pool_.find(done.group);
  PL_CHECK(at != in_pool_.end());
  const InPool was = at->second;
  in_pool_.erase(at);
  bytes_in_pool_ -= was.bytes;
  bytes_back_ += was.bytes;
  for (const Encoded& e : done.records) tokens_back_ += e.samples.tokens();
  if (bytes_back_ > 0) {
    tokens_a_byte_ = static_cast<double>(tokens_back_) / static_cast<double>(bytes_back_);
  }
  Lane& l = lanes_[was.lane];
  if (was.generation != l.generation) return;
  Group& group = l.groups[was.place - l.groups_gone];
  group.back = true;
  group.encoded = std::move(done.records);
  bytes_put_by_ += group.bytes;
  ++groups_put_by_;
}

Status ReadAhead::take_groups() {
  for (;;) {
    Result<std::optional<EncodePool::Done>> done = pool_->take();
    if (!done) return tl::unexpected<Error>(done.error());
    if (!*done) return {};
    put_by(std::move(**done));
  }
}

Result<std::optional<EncodedRecord>> ReadAhead::try_next(std::uint32_t lane) {
  PL_CHECK(more(lane));
  Lane& l = lanes_[lane];
  if (l.groups.empty() || !l.groups.front().back) {
    if (Status ok = take_groups(); !ok) return tl::unexpected<Error>(ok.error());
  }
  if (l.groups.empty()) {
    if (!l.unreadable && !pool_->full()) submit_group(lane, true);
    if (l.groups.empty() && l.unreadable) return tl::unexpected<Error>(*l.unreadable);
    return std::nullopt;
  }
  Group& group = l.groups.front();
  if (!group.back) return std::nullopt;
  const Item& item = group.items[group.next];
  std::optional<EncodedRecord> record({item.number, item.ref, item.passed_over, {}});
  if (!item.passed_over) record->encoded = std::move(group.encoded[group.next_encoded++]);
  l.bytes_ahead -= item.bytes;
  bytes_put_by_ -= item.bytes;
  if (++group.next == group.items.size()) {
    l.groups.pop_front();
    ++l.groups_gone;
    --groups_put_by_;
  }
  return record;
}

Result<EncodedRecord> ReadAhead::next(std::uint32_t lane) {
  for (;;) {
    Result<std::optional<EncodedRecord>> record = try_next(lane);
    if (!record) return tl::unexpected<Error>(record.error());
    if (*record) return std::move(**record);
    wait();
  }
}

void ReadAhead::fill(std::uint32_t lane, std::uint64_t tokens, bool urgent) {
  const Lane& l = lanes_[lane];
  const auto enough = [&] {
    return static_cast<double>(l.bytes_ahead) * tokens_a_byte_ >= static_cast<double>(tokens);
  };
  while (unread(l) && !l.unreadable && room(l, urgent) && !enough() && submit_group(lane)) {
  }
}

}  // namespace packline
