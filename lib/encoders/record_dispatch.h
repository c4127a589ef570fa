#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/instant.h"
#include "lib/delivery/role.h"
#include "lib/encode/encoder.h"
#include "lib/wire/messages.h"

namespace packline {

struct DispatchSettings {
  std::uint64_t session = 0;                  // of this life of the producer
  std::string encoder;                        // what an encoder process must be to be given records
  Duration lease = std::chrono::seconds(60);  // for one batch at an encoder
  Duration silent =
      std::chrono::seconds(3);  // an encoder not heard for this long is not counted on
  Duration word = std::chrono::milliseconds(200);
};

struct DispatchCounters {
  std::uint64_t batches_sent = 0;
  std::uint64_t batches_sent_again = 0;  // of these, after an encoder did not answer
  std::uint64_t encoders_lost = 0;       // processes that ended, or hung, over records
  std::uint64_t encoders_silent = 0;
  std::uint64_t records_killed = 0;  // lost as encoder_killed
  std::uint64_t answers_late = 0;    // to a batch that was given to another by then, or is done
  std::uint64_t refused = 0;         // encoders of another kind, and answers that are none
};

// One record, as it goes to an encoder.
struct DispatchRecord {
  RecordHeader header;  // `source` is filled in by the dispatch
  RecordSource source;
  std::string where;  // for sentences: the record's id where nothing better is known
  Buffer bytes;
};

// Which records are at which encoder process, and what to do when one ends (docs/encoders.md).
//
// Work comes in groups, whose results are given back whole, in whatever order they are done. A
// group is one batch at first. An encoder may hold `room` batches; what it says it holds is true:
// a batch that arrived there and is no longer held, without an answer, was lost with a connection
// and goes out again. A batch whose process ended goes out again record by record, and each of its
// records has a strike; a record with three strikes is lost as encoder_killed. An encoder that
// falls silent is treated as one that ended; if it speaks again its strikes are taken back.
//
// What a record becomes depends on it alone, so whoever answers first is right and a second answer
// changes nothing. No clock, no socket, one thread.
class RecordDispatch {
 public:
  static constexpr std::size_t kStrikesMax = 3;

  struct Done {
    std::uint64_t group = 0;
    std::vector<Encoded> records;  // one for each of the group's
  };

  explicit RecordDispatch(DispatchSettings settings) : settings_(std::move(settings)) {}

  // A group number is used once.
  void submit(std::uint64_t group, std::vector<DispatchRecord> records, Instant now);
  void drop(const std::function<bool(std::uint64_t group)>& unwanted);

  // `peer` is how the service reaches the encoder that said it.
  void on_state(const std::string& peer, const EncoderState& s, Instant now);
  void on_encoded(const std::string& peer, const EncodedBatch& e, Instant now);
  void on_struck(const std::string& peer, const Struck& s, Instant now);
  void tick(Instant now);

  // Gives try_send the batches that are due, the oldest groups first. False = that encoder cannot
  // be written now.
  using Send = std::function<bool(const std::string& peer, const RecordBatch& batch)>;
  void dispatch(Instant now, const Send& try_send);

  // A group that is done; none when none is.
  std::optional<Done> take();

  // What each encoder heard lately is to be told every settings.word.
  std::vector<std::pair<std::string, ProducerWord>> words(bool finished, Instant now) const;

  std::vector<Wait> waits(Instant now) const;
  const DispatchCounters& counters() const { return counters_; }
  std::size_t encoders(Instant now) const;  // heard lately and not refused
  std::size_t groups() const { return groups_.size(); }

 private:
  struct Strike {
    std::uint64_t session = 0;  // of the encoder
    bool silent = false;        // it may live
    std::string text;
  };
  struct Record {
    DispatchRecord record;
    std::vector<Strike> strikes;
    std::optional<Encoded> result;
  };
  struct Group {
    std::vector<Record> records;
    std::size_t missing = 0;  // results
    Instant since{};
  };
  // A stretch of a group's records that goes out as one batch.
  struct Part {
    std::uint64_t group = 0;
    std::uint32_t first = 0, count = 0;
    auto operator<=>(const Part&) const = default;
  };
  struct Out {
    Part part;
    std::string peer;
    Instant sent{};
  };
  struct Encoder {
    std::uint64_t session = 0, seq = 0;
    std::string name;
    std::string refused;
    Instant heard{};
    std::uint32_t room = 0;
    std::vector<std::uint64_t> held;
    std::uint64_t working_ms = 0;
    bool gone = false;  // silent: its batches were given up
  };

  bool alive(const Part& part) const;
  bool wanted(const Part& part) const;
  std::uint32_t overruns(const Part& part) const;
  std::size_t out_at(const std::string& peer) const;
  Encoder* next_encoder(const std::set<std::string>& blocked, std::string& peer);
  RecordBatch batch_of(const Part& part) const;
  void again(const Part& part);
  void strike(const Part& part, const Strike& strike);
  void forgive(std::uint64_t session);
  void give_up(const std::string& peer, Encoder& e, Instant now);
  void resolve(std::uint64_t group, std::uint32_t record, Encoded encoded);
  static std::string sentence(const std::vector<Strike>& strikes);

  DispatchSettings settings_;
  std::map<std::uint64_t, Group> groups_;
  std::set<Part> ready_;              // to go out, the oldest first
  std::map<std::uint64_t, Out> out_;  // by batch number; those that may still be answered
  std::map<std::string, Encoder> encoders_;
  std::deque<std::uint64_t> done_;
  std::uint64_t next_number_ = 1;
  std::set<Part> sent_before_;  // for the counter
  Instant waiting_since_{};     // for an encoder; while there is work and nobody for it
  DispatchCounters counters_;
};

// The samples and ids of an outcome as the encoder of this process would give them; an outcome that
// is not what an encoder may say is the error.
Result<Encoded> encoded_of(const RecordOutcome& outcome, const std::string& record_id);

}  // namespace packline
