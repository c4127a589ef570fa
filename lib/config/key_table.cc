#include "lib/config/key_makers.h"

// The member of Job that a key sets.
#define MEMBER(member) [](auto& job, [[maybe_unused]] std::size_t i) -> auto& { return job.member; }

namespace packline {
namespace {

using namespace key_makers;  // NOLINT: this file is the table

using Keys = std::vector<Key>;

void add(Keys& to, Keys more) {
  for (Key& key : more) to.push_back(std::move(key));
}

// A file format, not a setting: read, checked to be 1, kept nowhere.
Key version_key() {
  Key key = base("version", KeyType::kInteger, "The version of the job file's format.");
  key.low = key.high = 1;
  key.set = [](Job&, std::size_t, const KeyValue&) {};
  key.get = [](const Job&, std::size_t) { return std::string("1"); };
  return required(std::move(key));
}

Key epochs_key() {
  Key key = base("epochs", KeyType::kEpochs,
                 "How often the data is gone through; `continuous` has no end.");
  key.low = 1;
  key.high = 1e9;
  key.set = [](Job& job, std::size_t, const KeyValue& v) { job.epochs = v.integer; };
  key.get = [](const Job& job, std::size_t) {
    return job.epochs == kContinuous ? std::string("continuous") : fmt::format("{}", job.epochs);
  };
  return key;
}

Keys top_keys() {
  return {
      version_key(),
      computed(text("name", 64, MEMBER(name), "What logs, status and summary call this job."),
               "the job file's own name"),
      integer("seed", "", 0, 9223372036854775807.0, MEMBER(seed),
              "Decides every random choice; another seed is another stream."),
      epochs_key(),
      choice("split", {"train", "eval"}, MEMBER(split),
             "eval: the records that are set aside, in order, once an epoch, without end."),
      text("state", 4096, MEMBER(state),
           "Folder for indexes, quarantine and the run folder, relative to the job file."),
  };
}

Keys source_keys() {
  Keys keys{
      required(text("sources[].path", 4096, MEMBER(sources[i].pattern),
                    "A file or a pattern (* ? []), relative to the job file; .gz and .zst are "
                    "unpacked.")),
      choice("sources[].read_as", {"auto", "jsonl", "json", "lines", "files", "megatron"},
             MEMBER(sources[i].read_as),
             "auto: by the name. json: an array; lines, files: plain text; megatron: .idx, .bin."),
      required(choice("sources[].format", {"text", "chat", "tokens"}, MEMBER(sources[i].format),
                      "What a record is: one text, a chat of messages, or ready token ids.")),
      choice("sources[].record", {"document", "sequence"}, MEMBER(sources[i].record),
             "What one record of a Megatron pair is."),
      where(computed(number("sources[].weight", "", 1e-6, 1e6, MEMBER(sources[i].weight),
                            "Share of this source while sources are mixed; all sources or none."),
                     "by size"),
            [](const Job& job, std::size_t i) { return job.sources[i].weight > 0; }),
      number("sources[].repeat", "times", 1e-6, 1e6, MEMBER(sources[i].repeat),
             "How often each record comes in an epoch; 2.5 is twice, a seeded half three times."),
  };
  add(keys,
      {
          text("sources[].fields.text", 256, MEMBER(sources[i].fields.text),
               "The record's key that holds the text, for format text."),
          text("sources[].fields.messages", 256, MEMBER(sources[i].fields.messages),
               "The record's key that holds the list of messages, for format chat."),
          text("sources[].fields.role", 256, MEMBER(sources[i].fields.role),
               "A message's key that holds who speaks."),
          text("sources[].fields.content", 256, MEMBER(sources[i].fields.content),
               "A message's key that holds what is said."),
          text("sources[].fields.input_ids", 256, MEMBER(sources[i].fields.input_ids),
               "The record's key that holds the token ids, for format tokens."),
          text("sources[].fields.labels", 256, MEMBER(sources[i].fields.labels),
               "The record's key that may hold labels, one a token, -100 where there is no loss."),
          text("sources[].fields.loss_mask", 256, MEMBER(sources[i].fields.loss_mask),
               "The record's key that may hold 0 or 1 for each token, in place of labels."),
          text("sources[].fields.id", 256, MEMBER(sources[i].fields.id),
               "The record's key that may hold its own id, kept as the start of the sample id."),
      });
  return keys;
}

Keys order_keys() {
  return {
      choice("shuffle.kind", {"full", "buffer", "none"}, MEMBER(shuffle.kind),
             "full: one permutation of all records; buffer: inside blocks; none: file order."),
      where(integer("shuffle.size", "records", 1, 1099511627776.0, MEMBER(shuffle.size),
                    "The size of a block; needed for kind buffer, unused otherwise."),
            [](const Job& job, std::size_t) { return job.shuffle.kind == ShuffleKind::kBuffer; }),
      integer("lanes", "lanes", 1, 4096, MEMBER(lanes),
              "How many ways the order is dealt; at most so many producers can share the work."),
      choice("on_bad_record", {"quarantine", "stop"}, MEMBER(on_bad_record),
             "quarantine: count it, write it down, go on; stop: end with exit code 3."),
  };
}

Keys encode_keys() {
  return {
      required(choice("encode.kind", {"tokens", "bytes", "sentencepiece"}, MEMBER(encode.kind),
                      "What makes token ids of a record; tokens takes ready ids as they are.")),
      text("encode.model", 4096, MEMBER(encode.model),
           "The model file, relative to the job file; needed for kind sentencepiece."),
      integer("encode.threads", "threads", 1, 256, MEMBER(encode.threads),
              "Worker threads of each producer; the stream does not depend on it."),
      boolean("encode.add_bos", MEMBER(encode.add_bos),
              "Whether a begin-of-sequence token opens each sample."),
      boolean("encode.add_eos", MEMBER(encode.add_eos),
              "Whether an end-of-sequence token closes each sample."),
      choice("encode.roles", {"text", "model"}, MEMBER(encode.roles),
             "Chat roles as plain text, or as the control pieces of the model's own."),
      choice("encode.train", {"assistant", "all"}, MEMBER(encode.train),
             "Which turns of a chat carry loss."),
  };
}

Keys pack_keys() {
  return {
      integer("pack.capacity", "tokens", 1, 16777216, MEMBER(pack.capacity),
              "The length of a pack, never exceeded: what the trainer's sequence length is."),
      choice("pack.strategy",
             {"best_fit_decreasing", "first_fit_decreasing", "sequential", "wrapped", "spread"},
             MEMBER(pack.strategy),
             "best_fit fills best; sequential keeps the order; wrapped cuts the stream; spread is "
             "even."),
      choice("pack.plan", {"streaming", "global"}, MEMBER(pack.plan),
             "streaming: window after window; global: the whole epoch at once, after a pass for "
             "the lengths."),
      boolean("pack.replan_each_epoch", MEMBER(pack.replan_each_epoch),
              "Whether a global plan has other packs in each epoch, not only another order."),
      integer("pack.packs_per_window", "packs", 1, 1048576, MEMBER(pack.packs_per_window),
              "Packs that are planned together: more fill better and take more memory."),
      computed(integer("pack.lookahead_packs", "packs", 0, 1048576, MEMBER(pack.lookahead_packs),
                       "Packs planned beyond a window, so that the fullest can be sent first."),
               "pack.packs_per_window"),
      integer("pack.lookahead_samples_max", "samples", 0, 1048576,
              MEMBER(pack.lookahead_samples_max),
              "And no more samples than this beyond it, which keeps the cursor small."),
      integer("pack.lookahead_windows_max", "windows", 0, 1048576,
              MEMBER(pack.lookahead_windows_max),
              "For how many windows a sample may be carried over before it must be sent."),
      integer("pack.max_samples", "samples", 0, 16777216, MEMBER(pack.max_samples),
              "The most samples in a pack; 0 is no limit."),
      integer(
          "pack.sample_multiple_of", "tokens", 1, 65536, MEMBER(pack.sample_multiple_of),
          "Each sample is padded to a multiple of it, such as twice the context parallel size."),
      integer("pack.pad_to_multiple_of", "tokens", 1, 16777216, MEMBER(pack.pad_to_multiple_of),
              "Each pack is padded to a multiple of it; the capacity gives every pack one shape."),
      integer("pack.pad_id", "token id", 0, 2147483647, MEMBER(pack.pad_id),
              "The token id of padding, whose label is -100."),
      choice("pack.over_long", {"drop", "error", "truncate_right", "truncate_left", "split"},
             MEMBER(pack.over_long),
             "What becomes of a sample longer than the capacity; each one is counted."),
      boolean("pack.drop_unsupervised", MEMBER(pack.drop_unsupervised),
              "Whether samples without any token that carries loss are lost, and counted."),
      choice("pack.balance", {"none", "attention"}, MEMBER(pack.balance),
             "attention: packs of one step cost alike, so that no rank waits for the slowest."),
      integer("pack.cost_per_token", "", 0, 1048576, MEMBER(pack.cost_per_token),
              "The a of a sample's cost a*L + L*L, for balance; 0 is attention alone."),
      boolean("pack.same_kind", MEMBER(pack.same_kind),
              "Whether all packs of a step hold media rows, or none does."),
      computed(integer("pack.dp_size_multiple", "packs", 1, 65536, MEMBER(pack.dp_size_multiple),
                       "Packs of a window are a multiple of it; a resume may use any dp_size that "
                       "divides it."),
               "deliver.dp_size"),
  };
}

Keys deliver_keys() {
  return {
      integer("deliver.dp_size", "ranks", 1, 65536, MEMBER(deliver.dp_size),
              "Data-parallel ranks, each with a sink of its own."),
      integer("deliver.ranks_per_dp_rank", "ranks", 1, 65536, MEMBER(deliver.ranks_per_dp_rank),
              "Trainer ranks that see the same packs (tensor x context x pipeline parallel)."),
      integer("deliver.packs_per_optimizer_step", "packs", 1, 65536,
              MEMBER(deliver.packs_per_optimizer_step),
              "Of one rank: micro batch x gradient accumulation; for counting optimizer steps."),
      choice(
          "deliver.remainder", {"spread", "drop", "repeat"}, MEMBER(pack.remainder),
          "How an epoch's last packs become equally many for every rank; each sample is counted."),
      integer("deliver.window_credit", "windows", 1, 1024, MEMBER(deliver.window_credit),
              "Windows of a lane that may be under way: this bounds the memory of the line."),
      milliseconds("deliver.lease_ms", 10, 3600000, MEMBER(deliver.times.lease),
                   "A window that has not arrived after this time is sent again."),
      seconds("deliver.warn_after_s", 0.1, 604800, MEMBER(deliver.times.warn_after),
              "A wait longer than this is said, with who waits for whom."),
      seconds("deliver.fail_after_s", 0.1, 604800, MEMBER(deliver.times.fail_after),
              "A wait longer than this ends the process with that sentence."),
  };
}

Keys eval_keys() {
  return {
      number("eval.fraction", "", 0, 0.9, MEMBER(eval.fraction),
             "Share of records set aside from all training, for PackStream(job, split=\"eval\")."),
      integer("eval.seed", "", 0, 9223372036854775807.0, MEMBER(eval.seed),
              "Decides which ones; apart from `seed`, so that they stay the same."),
  };
}

Keys line_keys() {
  Key bind = base("line.bind", KeyType::kChoice,
                  "same: a process binds the address that others use; any: all interfaces.");
  bind.choices = {"same", "any"};
  bind.set = [](Job& job, std::size_t, const KeyValue& v) { job.line.bind_any = v.integer == 1; };
  bind.get = [](const Job& job, std::size_t) {
    return std::string(job.line.bind_any ? "any" : "same");
  };
  Key security = base("line.security", KeyType::kChoice,
                      "none: the line is not encrypted; to be said where it leaves the host.");
  security.choices = {"none"};
  security.set = [](Job& job, std::size_t, const KeyValue&) { job.line.security_none = true; };
  security.get = [](const Job& job, std::size_t) {
    return std::string(job.line.security_none ? "none" : "");
  };
  return {
      texts("line.producers", 512, MEMBER(line.producers),
            "Base address of each producer, by index; absent: `packline run` makes the line."),
      texts("line.sinks", 512, MEMBER(line.sinks),
            "Base address of each sink, by dp_rank; a process takes five ports from there."),
      texts("line.eval_producers", 512, MEMBER(line.eval_producers),
            "Likewise of the one producer that serves evaluation (started with --set split=eval)."),
      texts("line.eval_sinks", 512, MEMBER(line.eval_sinks),
            "Likewise of its sinks, one for each dp_rank."),
      std::move(bind),
      std::move(security),
  };
}

}  // namespace

const std::vector<Key>& job_keys() {
  static const std::vector<Key> keys = [] {
    Keys all = top_keys();
    for (auto* more : {&source_keys, &order_keys, &encode_keys, &pack_keys, &deliver_keys,
                       &eval_keys, &line_keys}) {
      add(all, (*more)());
    }
    return all;
  }();
  return keys;
}

}  // namespace packline
