#include "sotto/trainer/detail/agreement.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

#include "sotto/core/detail/memory/difference.hpp"
#include "sotto/transports/run_in_process.hpp"

using namespace sotto;

TEST_CASE("the first line that differs is shown from both sides") {
    using detail::difference;
    CHECK(difference(3, "a = 1\nb = 2\n", 0, "a = 1\nb = 2\n") == "");
    CHECK(difference(3, "a = 1\nb = 2\n", 0, "a = 1\nb = 5\n") ==
          "rank 3 has 'b = 2' where rank 0 has 'b = 5'");
    CHECK(difference(1, "a = 1\n", 0, "a = 1\nb = 5\n") ==
          "rank 1 has 'nothing' where rank 0 has 'b = 5'");
    CHECK(difference(1, "a = 1\nb = 2\n", 0, "") ==
          "rank 1 has 'a = 1' where rank 0 has 'nothing'");
    CHECK(difference(1, "", 0, "") == "");
}

TEST_CASE("equal texts pass, and the lowest rank that differs is named to all") {
    for (const int world : {1, 2, 5})
        run_in_process(world, [](in_process& transport) {
            CHECK_NOTHROW(detail::require_agreement(transport, std::string("seed = 1\n")));
            CHECK_NOTHROW(detail::require_agreement(transport, std::string()));
        });
    run_in_process(4, [](in_process& transport) {
        const std::string text = "seed = " + std::to_string(transport.rank() / 2) + "\n";
        CHECK_THROWS_WITH_AS(detail::require_agreement(transport, text),
                             "the ranks are configured differently: rank 2 has 'seed = 1' where "
                             "rank 0 has 'seed = 0'",
                             mismatch);
    });
}

TEST_CASE("agreement: a configuration above 16 MiB -> refused by every rank, none is sent") {
    run_in_process(3, [](in_process& transport) {
        const std::string text(transport.rank() == 1 ? (1u << 24) + 1 : 1u << 24, 'x');
        CHECK_THROWS_WITH_AS(detail::require_agreement(transport, text),
                             "the configuration of rank 1 has 16777217 bytes; at most 16777216 are "
                             "possible",
                             mismatch);
    });
}

namespace {

/// What ranks with 40,000 tensors have in common: 2 MB.
std::string long_text() {
    std::string text;
    for (int i = 0; i < 40000; ++i)
        text += "tensor layers." + std::to_string(i) + ".experts.weight = 1024 x 4096\n";
    return text;
}

}  // namespace

TEST_CASE("agreement: equal texts -> some bytes of each rank, however long they are") {
    run_in_process(3, [](in_process& transport) {
        CHECK_NOTHROW(detail::require_agreement(transport, long_text()));
        CHECK(transport.counters().bytes_sent < 200);
    });
}

TEST_CASE("agreement: long texts that differ somewhere -> the line is shown") {
    const std::string text = long_text();
    // Number 10926 begins in one piece of the text and ends in the next one.
    for (const std::string line :
         {"layers.0.", "layers.9999.", "layers.10738.", "layers.10926.", "layers.39999."})
        run_in_process(3, [&](in_process& transport) {
            std::string own = text;
            const std::size_t at = own.find(line);
            if (transport.rank() == 2) own.replace(own.find("4096", at), 4, "8192");
            const std::string name = "'tensor " + line + "experts.weight = 1024 x ";
            CHECK_THROWS_WITH_AS(detail::require_agreement(transport, own),
                                 ("the ranks are configured differently: rank 2 has " + name +
                                  "8192' where rank 0 has " + name + "4096'")
                                     .c_str(),
                                 mismatch);
        });
}

TEST_CASE("agreement: a long text that ends early -> the first missing line is shown") {
    const std::string text = long_text();
    for (const std::size_t piece : {std::size_t{0}, std::size_t{1} << 19, text.size() - 10})
        run_in_process(2, [&](in_process& transport) {
            const std::size_t end = text.rfind('\n', piece) + 1;
            const std::string own = transport.rank() == 1 ? text.substr(0, end) : text;
            const std::string missing = text.substr(end, text.find('\n', end) - end);
            CHECK_THROWS_WITH_AS(detail::require_agreement(transport, own),
                                 ("the ranks are configured differently: rank 1 has 'nothing' "
                                  "where rank 0 has '" +
                                  missing + "'")
                                     .c_str(),
                                 mismatch);
        });
}
