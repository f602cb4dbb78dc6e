#include "sotto/transports/detail/simulated/fiber.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <deque>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

using sotto::detail::simulation::fiber;

TEST_CASE("a turn goes to whom it is given to, and comes back") {
    std::vector<int> order;
    fiber here, first, second;
    first.start([&]() -> fiber* {
        order.push_back(1);
        first.give_to(second);
        order.push_back(3);
        return &second;
    });
    second.start([&]() -> fiber* {
        order.push_back(2);
        second.give_to(first);
        order.push_back(4);
        return &here;
    });
    here.give_to(first);
    CHECK(order == std::vector<int>{1, 2, 3, 4});
}

TEST_CASE("a fiber that handles an exception and one that unwinds keep theirs in others' turns") {
    constexpr std::size_t strands = 3, rounds = 2;
    std::deque<fiber> all(strands);
    fiber here;
    std::array<std::string, strands> caught;
    std::array<int, strands> in_flight{};
    const auto give_on = [&](std::size_t self) {
        for (std::size_t round = 0; round < rounds; ++round)
            all[self].give_to(all[(self + 1) % strands]);
    };
    /// Gives its turn away while an exception passes.
    struct gives {
        const decltype(give_on)& give;
        std::size_t self;
        int* count;
        ~gives() {
            give(self);
            *count = std::uncaught_exceptions();
        }
    };
    for (std::size_t self = 0; self < strands; ++self)
        all[self].start([&, self]() -> fiber* {
            try {
                try {
                    const gives on_the_way{give_on, self, &in_flight[self]};
                    throw std::runtime_error("of " + std::to_string(self));
                } catch (const std::exception&) {
                    give_on(self);
                    throw;  // the one that this fiber handles
                }
            } catch (const std::exception& e) {
                caught[self] = e.what();
            }
            CHECK(std::uncaught_exceptions() == 0);
            return self + 1 == strands ? &here : &all[self + 1];
        });
    here.give_to(all[0]);
    CHECK(caught == std::array<std::string, strands>{"of 0", "of 1", "of 2"});
    CHECK(in_flight == std::array<int, strands>{1, 1, 1});
}
