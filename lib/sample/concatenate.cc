#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "lib/sample/bytes.h"
#include "lib/sample/samples.h"

namespace packline {
namespace {

using Parts = std::vector<const Samples*>;

std::span<const std::byte> bytes_of(const std::vector<std::int32_t>& v) {
  return std::as_bytes(std::span(v));
}

// Every name that some part has, in order.
std::vector<std::string_view> names_of(const Parts& parts) {
  std::vector<std::string_view> names;
  const Samples* known = nullptr;  // parts are mostly alike
  for (const Samples* part : parts) {
    const bool alike = known != nullptr && std::equal(part->columns.begin(), part->columns.end(),
                                                      known->columns.begin(), known->columns.end(),
                                                      [](const Column& a, const Column& b) {
                                                        return a.name == b.name;
                                                      });
    if (alike) continue;
    known = part;
    for (const Column& c : part->columns) {
      const auto at = std::lower_bound(names.begin(), names.end(), c.name);
      if (at == names.end() || *at != c.name) names.insert(at, c.name);
    }
  }
  return names;
}

std::vector<const Column*> columns_named(const Parts& parts, std::string_view name) {
  std::vector<const Column*> columns;
  columns.reserve(parts.size());
  for (const Samples* part : parts) columns.push_back(part->find(name));
  return columns;
}

std::string kind_text(const Column& c) {
  return fmt::format("{} {} [{}]", name_of(c.kind), name_of(c.dtype),
                     fmt::join(c.item_shape, ", "));
}

bool completable(const Column& c) {
  return c.kind == ColumnKind::kRagged || c.kind == ColumnKind::kOpaque;
}

// All parts that have the column have it alike; all have it, unless it can be completed.
Status check_alike(const Parts& parts, const std::vector<const Column*>& columns) {
  const auto has = [](const Column* c) { return c != nullptr; };
  const auto first = std::find_if(columns.begin(), columns.end(), has);
  const Column& model = **first;
  const std::string& model_id = parts[static_cast<std::size_t>(first - columns.begin())]->ids[0];
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Column* c = columns[p];
    if (c == nullptr) {
      if (completable(model)) continue;
      return fail(
          ExitCode::kDataRefused,
          fmt::format("sample \"{}\" has no column \"{}\", but sample \"{}\" has; give every "
                      "sample of the job the same per-token columns",
                      parts[p]->ids[0], model.name, model_id));
    }
    if (c->kind == model.kind && c->dtype == model.dtype && c->item_shape == model.item_shape) {
      continue;
    }
    return fail(
        ExitCode::kDataRefused,
        fmt::format("sample \"{}\" has column \"{}\" as {}, but sample \"{}\" has it as {}; "
                    "give every sample of the job the same columns",
                    parts[p]->ids[0], model.name, kind_text(*c), model_id, kind_text(model)));
  }
  return {};
}

Column join(const Parts& parts, const std::vector<const Column*>& columns, const Column& model) {
  Column joined{model.name, model.dtype, model.kind, model.item_shape, {}, {}};
  std::size_t bytes = 0;
  for (const Column* c : columns) bytes += c == nullptr ? 0 : c->data.size();
  FreshBytes fresh(bytes);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Column* c = columns[p];
    if (c != nullptr) fresh.append(c->data.bytes());
    if (model.kind == ColumnKind::kPerToken) continue;
    if (c != nullptr) {
      joined.rows.insert(joined.rows.end(), c->rows.begin(), c->rows.end());
    } else {
      joined.rows.insert(joined.rows.end(), parts[p]->size(), 0);
    }
  }
  joined.data = std::move(fresh).take();
  return joined;
}

Column join_labels_as_spans(const Parts& parts, const std::vector<const Column*>& columns) {
  Column joined{"labels", DType::kI32, ColumnKind::kSpans, {}, {}, {}};
  std::vector<std::uint32_t> spans;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (const Column* c = columns[p]) {
      joined.rows.insert(joined.rows.end(), c->rows.begin(), c->rows.end());
      for (std::size_t i = 0; i < c->data.count<std::uint32_t>(); ++i) {
        spans.push_back(c->data.at<std::uint32_t>(i));
      }
      continue;
    }
    for (const std::uint32_t length : parts[p]->lengths) {
      joined.rows.push_back(length > 0 ? 1 : 0);
      if (length > 0) spans.insert(spans.end(), {0, length});
    }
  }
  joined.data = Buffer::of(std::move(spans));
  return joined;
}

Column join_labels_as_values(const Parts& parts, const std::vector<const Column*>& columns) {
  std::uint64_t tokens = 0;
  for (const Samples* part : parts) tokens += part->tokens();
  FreshBytes fresh(tokens * sizeof(std::int32_t));
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Column* c = columns[p];
    if (c == nullptr) {
      fresh.append(parts[p]->find("input_ids")->data.bytes());
    } else if (c->kind == ColumnKind::kSpans) {
      fresh.append(bytes_of(values_of_spans(*parts[p], *c)));
    } else {
      fresh.append(c->data.bytes());
    }
  }
  return {"labels", DType::kI32, ColumnKind::kPerToken, {}, std::move(fresh).take(), {}};
}

// JSON does not tell 1 from 1.0: a per-token column that some parts have as i64 and some as f64 is
// f64 in all. `made` keeps the converted ones.
void make_alike_numbers(std::vector<const Column*>& columns, std::deque<Column>& made) {
  const auto numbers = [&](DType t) {
    return std::any_of(columns.begin(), columns.end(), [t](const Column* c) {
      return c != nullptr && c->kind == ColumnKind::kPerToken && c->dtype == t;
    });
  };
  if (!numbers(DType::kI64) || !numbers(DType::kF64)) return;
  for (const Column*& c : columns) {
    if (c == nullptr || c->kind != ColumnKind::kPerToken || c->dtype != DType::kI64) continue;
    std::vector<double> reals(c->data.count<std::int64_t>());
    for (std::size_t i = 0; i < reals.size(); ++i) {
      reals[i] = static_cast<double>(c->data.at<std::int64_t>(i));
    }
    made.push_back(
        {c->name, DType::kF64, c->kind, c->item_shape, Buffer::of(std::move(reals)), {}});
    c = &made.back();
  }
}

}  // namespace

Result<Samples> concatenate(const std::vector<Samples>& all) {
  Parts parts;
  for (const Samples& part : all) {
    if (part.size() > 0) parts.push_back(&part);
  }
  Samples joined;
  for (const Samples* part : parts) {
    joined.ids.insert(joined.ids.end(), part->ids.begin(), part->ids.end());
    joined.lengths.insert(joined.lengths.end(), part->lengths.begin(), part->lengths.end());
  }
  for (const std::string_view name : names_of(parts)) {
    std::vector<const Column*> columns = columns_named(parts, name);
    if (name == "labels") {
      const bool values = std::any_of(columns.begin(), columns.end(), [](const Column* c) {
        return c != nullptr && c->kind == ColumnKind::kPerToken;
      });
      joined.columns.push_back(values ? join_labels_as_values(parts, columns)
                                      : join_labels_as_spans(parts, columns));
      continue;
    }
    std::deque<Column> made;
    make_alike_numbers(columns, made);
    if (Status ok = check_alike(parts, columns); !ok) return tl::unexpected(ok.error());
    const auto model =
        std::find_if(columns.begin(), columns.end(), [](const Column* c) { return c != nullptr; });
    joined.columns.push_back(join(parts, columns, **model));
  }
  return joined;
}

}  // namespace packline
