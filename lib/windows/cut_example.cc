#include "lib/windows/cut_example.h"

#include <algorithm>
#include <map>
#include <memory>

#include "lib/base/random.h"
#include "lib/corpus/source.h"
#include "lib/encode/encoder.h"
#include "lib/windows/epoch_details.h"
#include "lib/windows/record_id.h"

namespace packline {
namespace {

// What was open while the windows were made, opened again for a few records.
class Again {
 public:
  Again(const Job& job, std::unique_ptr<Encoder> encoder)
      : job_(job), encoder_(std::move(encoder)) {}

  std::optional<CutExample> look_at(const std::string& id) {
    const std::optional<SampleOrigin> origin = origin_of(id);
    if (!origin || origin->source >= job_.sources.size()) return {};
    const Source* source = source_of(origin->source);
    if (source == nullptr || origin->record >= source->records()) return {};
    std::string scratch;
    const Result<RawRecord> raw = source->read(origin->record, scratch);
    if (!raw) return {};
    EncodeRequest request;
    request.bytes = raw->bytes;
    request.source = &source->settings();
    request.id = record_id({origin->source, 0, origin->record});
    request.form = raw->form;
    const Encoded encoded = encoder_->encode(request);
    const auto& lengths = encoded.samples.lengths;
    const auto longest = std::max_element(lengths.begin(), lengths.end());
    if (longest == lengths.end() || *longest <= job_.pack.capacity) return {};
    return CutExample{source->where(origin->record), id, *longest};
  }

 private:
  const Source* source_of(std::uint32_t s) {
    auto at = sources_.find(s);
    if (at == sources_.end()) {
      // Read as its maker reads it, so that nothing is unpacked anew.
      const ShuffleSettings reading =
          job_.pack.plan == PlanKind::kGlobal ? ShuffleSettings{} : job_.shuffle;
      auto opened = Source::open(job_.sources[s], job_.state, reading);
      at = sources_.emplace(s, opened ? std::move(*opened) : nullptr).first;
    }
    return at->second.get();
  }

  const Job& job_;
  const std::unique_ptr<Encoder> encoder_;
  std::map<std::uint32_t, std::unique_ptr<Source>> sources_;
};

}  // namespace

std::optional<CutExample> find_cut(const Job& job, const std::vector<std::string>& ids) {
  if (ids.empty()) return {};
  Result<std::unique_ptr<Encoder>> encoder = Encoder::make(job.encode);
  if (!encoder) return {};
  Again again(job, std::move(*encoder));
  for (const std::string& id : ids)
    if (auto found = again.look_at(id)) return found;
  return {};
}

}  // namespace packline
