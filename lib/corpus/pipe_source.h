#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "lib/corpus/pipe_reader.h"
#include "lib/corpus/record_scan.h"
#include "lib/corpus/source.h"

namespace packline {

// The records of a pipe, by number, as the records of a file with the same bytes are: JSONL, lines
// or one JSON array. They are there once they came, and as long as nobody forgot them.
//
// Memory: `kept_bytes` of records (a longer one alone), and what one read brings. Beyond that the
// oldest are let go, so that going back may reach less far than wanted, but never costs memory.
//
// One thread at a time but for cancel() and waits().
class PipeSource final : public Source {
 public:
  // `settings` has one file, the pipe. Reads nothing. Error (kDataRefused): a process that is gone
  // began to read it.
  static Result<std::unique_ptr<PipeSource>> open(const SourceSettings& settings,
                                                  const std::string& state_folder,
                                                  std::uint64_t kept_bytes);

  struct Reach {
    std::uint64_t records = 0;  // came so far
    bool all = false;           // and no more will come
  };
  // Has at least `records` records come, if there are so many: waits for them where `wait` says so,
  // else takes what is there. Those from `needed` on are not let go. Errors: PipeReader's; what the
  // scanner finds wrong; kDataRefused, those that are needed at once take more than `kept_bytes`.
  Result<Reach> reach(std::uint64_t records, std::uint64_t needed, bool wait);

  // Those before `record` will not be asked for again.
  void forget(std::uint64_t record);
  std::uint64_t kept_from() const { return first_; }  // the oldest record that can be read
  std::uint64_t bytes_kept() const { return bytes_; }

  std::uint64_t records() const override { return first_ + kept_.size(); }  // that came so far
  // Error (kDataRefused): it was let go.
  Result<RawRecord> read(std::uint64_t i, std::string& scratch) const override;
  const SourceSettings& settings() const override { return settings_; }
  std::string where(std::uint64_t i) const override;
  std::uint64_t content_hash() const override;  // that it is a pipe: its content is not known
  PipeSource* as_pipe() override { return this; }

  void cancel() { reader_.cancel(); }
  std::string waits() const { return reader_.waits(); }
  const std::string& path() const { return reader_.path(); }

 private:
  struct Kept {
    std::string bytes;
    std::uint32_t line;
  };

  PipeSource(const SourceSettings& settings, const std::string& state_folder,
             std::uint64_t kept_bytes);
  Status take(std::string_view bytes, bool ended);
  Result<bool> begin(bool ended);
  void keep_records();
  void let_go();

  const SourceSettings settings_;
  const std::uint64_t kept_bytes_;
  PipeReader reader_;
  std::vector<char> buffer_;
  std::unique_ptr<RecordScanner> scanner_;  // none before it is known how the text begins
  std::string text_;                        // what came and is in no record yet
  std::uint64_t text_at_ = 0;               // the place of its first byte
  std::deque<Kept> kept_;
  std::uint64_t first_ = 0;  // the number of kept_.front()
  std::uint64_t bytes_ = 0;  // of kept_
  bool ended_ = false;
};

}  // namespace packline
