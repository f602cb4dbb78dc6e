#include "sotto/trainer/detail/tensor_names.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "support/checkpointed.hpp"
#include "support/endings.hpp"

using namespace sotto;

namespace {

/// A model whose buffers have these names.
struct with_names : testing::remembering_model {
    with_names(sotto::layout parameters, sotto::layout buffers)
        : remembering_model(std::move(parameters)), names_(std::move(buffers)) {
        room_.resize(static_cast<std::size_t>(names_.size()));
    }
    const sotto::layout& buffer_layout() const noexcept { return names_; }
    std::span<float> buffers() noexcept { return room_; }

    sotto::layout names_;
    std::vector<float> room_;
};

std::string why_not(layout parameters, layout buffers) {
    std::string text;
    const auto thrown = testing::thrown_by(2, [&](in_process& transport) {
        with_names model(parameters, buffers);
        try {
            trainer trainer{model, all_reduce{}, transport};
        } catch (const invalid_option& e) {
            if (transport.rank() == 1) text = e.what();
        }
    });
    CHECK(testing::text_of(thrown) == "nothing");
    return text;
}

}  // namespace

TEST_CASE("trainer: a parameter and a buffer share a name -> refused before any training") {
    CHECK(why_not(layout().add("a", {2}).add("b", {1}), layout().add("c", {1}).add("b", {2})) ==
          "trainer: the model has a parameter and a buffer named 'b'; files of models need a name "
          "for each: rename one of them");
    CHECK(why_not(layout().add("a", {2}), layout().add("b", {2})).empty());
}

TEST_CASE("trainer: a name that is not UTF-8 -> refused before any training, shown escaped") {
    const std::string why =
        "', which is not UTF-8; files of models and checkpoints need names in UTF-8";
    CHECK(why_not(layout().add("a\xff.weight", {2}), layout()) ==
          "trainer: the model has a tensor named 'a\\xff.weight" + why);
    CHECK(why_not(layout().add("a", {2}), layout().add("\xe9tat", {2})) ==
          "trainer: the model has a tensor named '\\xe9tat" + why);
}
