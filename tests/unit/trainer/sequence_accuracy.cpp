#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "sotto/data/text_set.hpp"
#include "sotto/models/character_lstm.hpp"
#include "sotto/trainer/detail/evaluator.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/numbers.hpp"

TEST_CASE("accuracy on sequences is the share of their positions, however ranks divide them") {
    const sotto::data::text_set text("abracadabra, abracadabra, abracadabra!", {.length = 5});
    const std::int64_t size = text.size();
    REQUIRE(size == 7);
    sotto::models::character_lstm model{text.vocabulary().size(),
                                        {.width = 3, .hidden = 4, .layers = 1, .length = 5}};
    std::vector<float> parameters(static_cast<std::size_t>(model.layout().size()));
    model.initialise(parameters, sotto::random_stream{1});

    std::vector<std::int64_t> all(static_cast<std::size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    sotto::data::labelled_batch batch;
    text.gather(all, batch);
    const auto logits = model.predict(parameters, batch);
    const double loss = model.loss().value(logits, batch.labels());
    const auto outputs = static_cast<std::size_t>(model.outputs());
    int right = 0;
    for (std::size_t i = 0; i < batch.labels().size(); ++i) {
        const auto row = logits.subspan(i * outputs, outputs);
        right += std::max_element(row.begin(), row.end()) - row.begin() == batch.labels()[i];
    }
    REQUIRE(right > 0);
    const double accuracy = right / static_cast<double>(batch.labels().size());

    for (const int world : {1, 3})
        sotto::run_in_process(world, [&](auto& transport) {
            auto own = model;
            sotto::detail::evaluator<decltype(own)> measure(2, transport);
            for (const sotto::evaluation& found : {measure.shared(own, parameters, text, transport),
                                                   measure.alone(own, parameters, text)}) {
                CHECK(found.accuracy == accuracy);
                CHECK(found.loss == doctest::Approx(loss).epsilon(1e-6));
                CHECK(found.examples == size);
            }
        });
}

TEST_CASE("a model without labels has a loss, and an accuracy that is no number") {
    for (const int world : {1, 3})
        sotto::run_in_process(world, [&](auto& transport) {
            sotto::testing::number_model model;
            std::vector<float> parameters(static_cast<std::size_t>(model.layout().size()));
            sotto::detail::evaluator<decltype(model)> measure(2, transport);
            const sotto::evaluation found =
                measure.shared(model, parameters, sotto::testing::numbered{5}, transport);
            CHECK(found.loss == 2.0);  // the mean of 0..4
            CHECK(found.examples == 5);
            CHECK(std::isnan(found.accuracy));
        });
}
