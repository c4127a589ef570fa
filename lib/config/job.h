#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/corpus/order.h"
#include "lib/corpus/selection.h"
#include "lib/corpus/source.h"
#include "lib/delivery/identity.h"
#include "lib/delivery/place.h"
#include "lib/delivery/times.h"
#include "lib/encode/encoder.h"
#include "lib/packing/settings.h"

// The only user of yaml-cpp. A job file is read whole and every mistake is told at once.

namespace packline {

// Raised by any change that alters packs for the same job.
constexpr std::uint32_t kStreamVersion = 1;

enum class BadRecord : std::uint8_t { kQuarantine, kStop };

struct DeliverSettings {
  std::uint32_t dp_size = 1;
  std::uint32_t ranks_per_dp_rank = 1;
  std::uint32_t packs_per_optimizer_step = 1;
  std::uint32_t window_credit = 4;
  DeliveryTimes times;
  bool absent_trainer_fails = true;  // after times.fail_after
};

// Records that are set aside for evaluation.
struct EvalSettings {
  double fraction = 0;  // of all records, about
  std::uint64_t seed = 0;
};
enum class Split : std::uint8_t { kTrain, kEval };

struct LineSettings {
  std::vector<std::string> producers, sinks;  // base addresses; both empty: made by `packline run`
  std::vector<std::string> eval_producers, eval_sinks;  // likewise, for split: eval
  bool bind_any = false;                                // line.bind: any
  bool security_none = false;                           // line.security: none was said
};

// A job, checked: every value is in range and every path absolute.
struct Job {
  std::string file;    // as given
  std::string folder;  // of the file, absolute: what paths are relative to
  std::string name;
  std::uint64_t seed = 0;
  std::uint64_t epochs = 1;         // kContinuous
  std::string state = ".packline";  // folder; absolute once loaded
  std::vector<SourceSettings> sources;
  ShuffleSettings shuffle;
  std::uint32_t lanes = 4;
  BadRecord on_bad_record = BadRecord::kQuarantine;
  EncodeSettings encode;
  PackSettings pack;  // seed and dp_size_multiple filled in
  DeliverSettings deliver;
  EvalSettings eval;
  Split split = Split::kTrain;
  LineSettings line;

  // Every setting that determines the stream as (key, short value), in one fixed order; values over
  // 24 bytes are given by their hash. Needs the sources' content and the encoder's identity, so it
  // is filled by identify(); its hash is the fingerprint.
  Identity identity;
  std::uint64_t fingerprint = 0;

  Selection selection() const;
  JobShape shape() const { return {fingerprint, lanes, epochs, deliver.dp_size}; }
};

// One mistake of a job file or of a --set.
struct Mistake {
  std::string file;               // or "--set"
  int line = 0;                   // from 1; 0 = the file as a whole
  std::string key;                // "pack.capacity"
  std::string text;               // a sentence: what is wrong, what is allowed, the nearest name
  std::string line_text() const;  // "file:line: key: text"
};

struct LoadedJob {
  Job job;
  std::vector<Mistake> mistakes;  // empty: the job is whole
};

// Whether this host has the sources and the model: a packer's or a sink's may not.
enum class Data : std::uint8_t { kHere, kElsewhere };

// Reads and checks; `sets` are "a.b.0.c=YAML". Opens no source. Where the data are here it expands
// globs and says which files are missing.
LoadedJob load_job(const std::string& file, const std::vector<std::string>& sets,
                   Data data = Data::kHere);

// Fills identity and fingerprint from what the sources and the encoder say of themselves:
// one content hash a source, in order.
void identify(Job& job, const std::vector<std::uint64_t>& source_contents,
              const std::string& encoder);

// The entry of an identity that says how many packs every epoch has, where that is known before
// training; and what it says, 0 where it is not.
constexpr const char* kPacksInEveryEpoch = "packs_in_every_epoch";
std::uint64_t packs_in_every_epoch(const Job& job);

// The hash of an identity.
std::uint64_t fingerprint_of(const Identity& identity);

// The first setting in which two identities differ, as "pack.capacity: 8192, was 4096"; "" when
// equal.
std::string first_difference(const Identity& now, const Identity& was);

// All settings with their effective values, as a job file.
std::string effective_yaml(const Job& job);

}  // namespace packline
