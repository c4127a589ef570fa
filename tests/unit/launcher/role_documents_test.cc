#include "launcher/role_documents.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace packline {
namespace {

TEST_CASE("Role documents: the order is that of a sample's life, the eval split's roles last") {
  std::vector<std::string> names{"eval-sink-1",     "sink-10", "eval-packer-0", "packer-0",
                                 "eval-producer-0", "sink-9",  "producer-0",    "eval-sink-0"};
  std::ranges::sort(names, in_order);
  CHECK(names == std::vector<std::string>{"producer-0", "packer-0", "sink-9", "sink-10",
                                          "eval-producer-0", "eval-packer-0", "eval-sink-0",
                                          "eval-sink-1"});
}

TEST_CASE("Role documents: a line over tcp names the eval split's processes beside its own") {
  LineSettings line;
  line.producers = {"tcp://d:5550"};
  line.sinks = {"tcp://g:5600"};
  line.eval_producers = {"tcp://d:5580"};
  line.eval_sinks = {"tcp://g:5620"};
  CHECK(addresses_of(line) == StatusAddresses{{"producer-0", "d:5554"},
                                              {"sink-0", "g:5604"},
                                              {"eval-producer-0", "d:5584"},
                                              {"eval-sink-0", "g:5624"}});
  line.producers = line.eval_producers;  // as of split: eval
  line.sinks = line.eval_sinks;
  CHECK(addresses_of(line) == StatusAddresses{{"producer-0", "d:5584"}, {"sink-0", "g:5624"}});
}

}  // namespace
}  // namespace packline
