#include "lib/config/paths.h"

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "lib/config/yaml_tree.h"

namespace packline {
namespace {

namespace fs = std::filesystem;
using Refusal = tl::unexpected<std::string>;

constexpr std::size_t kFilesMax = 100'000;
constexpr const char* kAbsent = "does not exist";

bool has_wildcard(const std::string& path) {
  return path.find_first_of("*?[") != std::string::npos;
}

bool exists(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0;
}

// Only `pattern` may hold wildcards: the folder is a name as it is.
std::string escaped(const std::string& folder) {
  std::string out;
  for (const char c : folder) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string full_pattern(const std::string& folder, const std::string& pattern) {
  return pattern.starts_with('/') ? pattern : escaped(folder) + "/" + pattern;
}

// glob() tells its error function of folders that it cannot read; it has no argument for us.
thread_local std::string unreadable_folder;
int note_unreadable(const char* path, int error) {
  if (error != ENOENT && error != ENOTDIR) {
    unreadable_folder = fmt::format("{} ({})", path, std::strerror(error));
  }
  return 0;
}

tl::expected<std::vector<std::string>, std::string> expand(const std::string& folder,
                                                           const std::string& pattern) {
  const std::string literal = absolute_path(folder, pattern);
  if (!has_wildcard(pattern) || exists(literal)) return std::vector<std::string>{literal};
  if (pattern.find("**") != std::string::npos) {
    return Refusal(
        "** is not read; a pattern looks into one folder for each /, as in data/*/*.jsonl");
  }
  unreadable_folder.clear();
  glob_t found{};
  const int rc =
      ::glob(full_pattern(folder, pattern).c_str(), GLOB_NOSORT, note_unreadable, &found);
  std::vector<std::string> files;
  for (std::size_t i = 0; i < found.gl_pathc && rc == 0; ++i) {
    files.push_back(fs::path(found.gl_pathv[i]).lexically_normal().string());
  }
  ::globfree(&found);
  if (!unreadable_folder.empty()) {
    return Refusal(fmt::format("\"{}\" looks into a folder that cannot be read: {}", shown(pattern),
                               unreadable_folder));
  }
  if (rc == GLOB_NOSPACE) return Refusal("the pattern matches too much for the memory there is");
  std::ranges::sort(files);
  return files;
}

std::string same_file_sentence(const std::vector<std::string>& files) {
  std::map<std::pair<dev_t, ino_t>, const std::string*> seen;
  for (const std::string& file : files) {
    struct stat info{};
    if (::stat(file.c_str(), &info) != 0) continue;
    const auto [first, is_new] = seen.emplace(std::pair{info.st_dev, info.st_ino}, &file);
    if (!is_new) {
      return fmt::format(
          "{} and {} are the same file; its records would come twice (repeat says "
          "how often they should)",
          *first->second, file);
    }
  }
  return "";
}

std::string nothing_sentence(const std::string& folder, const std::string& pattern) {
  if (pattern.starts_with("~/")) {
    return fmt::format("\"{}\": ~ is not read; write the whole path", shown(pattern));
  }
  if (pattern.find("://") != std::string::npos) {
    return fmt::format("\"{}\" is an address; packline reads files of this host", shown(pattern));
  }
  if (!has_wildcard(pattern)) {
    return fmt::format("\"{}\" does not exist; paths are relative to the job file, so this is {}",
                       shown(pattern), absolute_path(folder, pattern));
  }
  return fmt::format("\"{}\" matches no file; paths are relative to the job file, in {}",
                     shown(pattern), folder);
}

}  // namespace

std::string absolute_path(const std::string& folder, const std::string& path) {
  return (fs::path(folder) / path).lexically_normal().string();
}

std::string why_unreadable(const std::string& path, Pipes pipes) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    struct stat link{};
    const int error = errno;
    if (::lstat(path.c_str(), &link) == 0) return "is a link to a file that does not exist";
    return error == ENOENT ? kAbsent : fmt::format("cannot be read: {}", std::strerror(error));
  }
  if (S_ISDIR(info.st_mode)) return "is a folder, not a file";
  if (!S_ISREG(info.st_mode) && !(S_ISFIFO(info.st_mode) && pipes == Pipes::kTaken))
    return "is no regular file";
  if (::access(path.c_str(), R_OK) != 0) {
    return fmt::format("cannot be read: {}", std::strerror(errno));
  }
  return "";
}

tl::expected<std::vector<std::string>, std::string> matched_files(const std::string& folder,
                                                                  const std::string& pattern) {
  auto files = expand(folder, pattern);
  if (!files) return files;
  if (files->empty() || (!has_wildcard(pattern) && why_unreadable(files->front()) == kAbsent)) {
    return Refusal(nothing_sentence(folder, pattern));
  }
  if (files->size() > kFilesMax) {
    return Refusal(fmt::format("\"{}\" matches {} files; at most {} are read", shown(pattern),
                               files->size(), kFilesMax));
  }
  for (const std::string& file : *files) {
    if (const std::string why = why_unreadable(file, Pipes::kTaken); !why.empty()) {
      return Refusal(
          fmt::format("{} {}{}", file, why,
                      why.starts_with("is a folder")
                          ? fmt::format("; name its files: \"{}/*.jsonl\"", shown(pattern))
                          : ""));
    }
  }
  if (std::string same = same_file_sentence(*files); !same.empty()) return Refusal(same);
  return files;
}

}  // namespace packline
