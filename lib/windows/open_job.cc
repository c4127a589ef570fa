// From a job to the maker of its windows: opens sources and encoder, says what they are.

#include <fmt/format.h>

#include <utility>

#include "lib/corpus/pipe_source.h"
#include "lib/windows/global_maker.h"
#include "lib/windows/memory_bound.h"
#include "lib/windows/window_maker.h"

namespace packline {
namespace {

// What a job reads from.
struct Opened {
  Sources sources;
  std::unique_ptr<Encoders> encoders;
};

Result<std::unique_ptr<Source>> open_source(const Job& job, const SourceSettings& settings,
                                            const ShuffleSettings& reading, const Say& say) {
  if (!settings.pipe) return Source::open(settings, job.state, reading, say);
  return PipeSource::open(settings, job.state, pipe_memory(job));
}

Result<Opened> open_parts(const Job& job, const Say& say, const OpenEncoders& open_encoders) {
  Opened opened;
  Result<std::unique_ptr<Encoders>> encoders = open_encoders(job);
  if (!encoders) return tl::unexpected<Error>(encoders.error());
  opened.encoders = std::move(*encoders);
  // A global plan reads records in any order, whatever order they were planned in.
  const ShuffleSettings reading =
      job.pack.plan == PlanKind::kGlobal ? ShuffleSettings{} : job.shuffle;
  for (const SourceSettings& settings : job.sources) {
    if (const Status ok = compatible(job.encode, settings.format); !ok) {
      return fail(ok.error().code, fmt::format("source {}: {}", settings.pattern, ok.error().text));
    }
    Result<std::unique_ptr<Source>> source = open_source(job, settings, reading, say);
    if (!source) return tl::unexpected<Error>(source.error());
    opened.sources.push_back(std::move(*source));
  }
  return opened;
}

void identify_from(Job& job, const Opened& opened) {
  std::vector<std::uint64_t> contents;
  for (const auto& source : opened.sources) contents.push_back(source->content_hash());
  identify(job, contents, opened.encoders->identity());
}

Result<std::unique_ptr<WindowMaker>> maker_of(const Job& job, Opened opened, const Say& say) {
  if (job.pack.plan == PlanKind::kGlobal)
    return make_global_maker(job, std::move(opened.sources), std::move(opened.encoders), say);
  return WindowMaker::over(job, std::move(opened.sources), std::move(opened.encoders));
}

}  // namespace

Result<std::unique_ptr<WindowMaker>> WindowMaker::open(const Job& job, const Say& say) {
  Job same = job;
  return open_job(same, say);
}

Result<std::unique_ptr<Encoders>> open_encoders_here(const Job& job) {
  Result<std::unique_ptr<Encoder>> encoder = Encoder::make(job.encode);
  if (!encoder) return tl::unexpected<Error>(encoder.error());
  return encoders_here(std::move(*encoder), job.encode.threads);
}

Result<std::unique_ptr<WindowMaker>> open_job(Job& job, const Say& say,
                                              const OpenEncoders& encoders) {
  Result<Opened> opened = open_parts(job, say, encoders);
  if (!opened) return tl::unexpected<Error>(opened.error());
  identify_from(job, *opened);
  auto maker = maker_of(job, std::move(*opened), say);
  if (!maker) return maker;
  // Known before training, and so told to all roles.
  if (const std::uint64_t packs = (*maker)->packs_in_every_epoch(); packs > 0) {
    job.identity.emplace_back(kPacksInEveryEpoch, fmt::format("{}", packs));
    job.fingerprint = fingerprint_of(job.identity);
  }
  return maker;
}

Status identify_job(Job& job) {
  const auto maker = open_job(job, {});
  return maker ? Status{} : tl::unexpected<Error>(maker.error());
}

}  // namespace packline
