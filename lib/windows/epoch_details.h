#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/config/job.h"
#include "lib/packing/advice.h"
#include "lib/windows/window_maker.h"

namespace packline {

// Windows by fill, in the order of delivery: at most kPoints points, each of as many windows as
// that needs.
class FillSeries {
 public:
  static constexpr std::size_t kPoints = 512;
  struct Point {
    std::uint64_t packs = 0, tokens = 0;
  };

  void add(Point window);
  const std::vector<Point>& points() const { return points_; }
  std::uint64_t windows_a_point() const { return windows_a_point_; }

 private:
  std::vector<Point> points_;
  std::uint64_t windows_a_point_ = 1;
  std::uint64_t in_last_ = 0;  // windows of the last point
};

// What was lost for one reason.
struct LossCount {
  static constexpr std::size_t kExamples = 3;
  std::uint64_t count = 0;     // records or samples
  std::uint64_t tokens = 0;    // of samples; 0 of records, which have none
  std::vector<Loss> examples;  // the first ones
};

struct SourceCount {
  std::uint64_t samples = 0, tokens = 0;  // delivered
  std::vector<std::uint64_t> lengths;     // by EpochCount's length bins
};

// What an epoch's windows say beyond their sums: what the settings cost, what others would bring,
// what is odd. Bounded by the settings and by how many lengths occur, not by the epoch.
struct EpochDetails {
  LengthCounts lengths;  // of samples delivered, and of those lost because they are too long
  StepBalance balance;   // as delivered
  StepBalance balanced;  // by balance: attention
  std::uint64_t packs_without_labels = 0;  // every label -100, or no sample at all
  std::vector<SourceCount> sources;        // as in the job
  FillSeries windows;
  std::map<std::string, LossCount> losses;        // by reason
  std::optional<LengthTrial> default_look_ahead;  // where the job has less
  // Samples as long as the capacity from the first windows on that cut some: the ids of a few, one
  // of which may have been cut.
  std::vector<std::string> maybe_cut;
};

// Which source a sample is of, by its id (docs/stream.md section 4); nothing for an id that does
// not say.
struct SampleOrigin {
  std::uint32_t source = 0;
  std::uint64_t record = 0;
};
std::optional<SampleOrigin> origin_of(std::string_view id);

// Fills in the details of an epoch, window after window in the order of delivery.
class DetailCounter {
 public:
  DetailCounter(const Job& job, std::size_t length_bins, EpochDetails& details);

  // `packs` are the window's, cut apart.
  void add(const ClosedWindow& window, const std::vector<Samples>& packs,
           const std::vector<Loss>& losses);

 private:
  void add_packs(const ClosedWindow& window, const std::vector<Samples>& packs);
  void add_samples(const ClosedWindow& window);
  void add_losses(const std::vector<Loss>& losses);
  void try_look_ahead(const ClosedWindow& window);

  const PackSettings pack_;
  const std::uint32_t lanes_, dp_size_;
  const std::size_t length_bins_;
  bool cuts_ = false;  // some window did
  EpochDetails& details_;
};

}  // namespace packline
