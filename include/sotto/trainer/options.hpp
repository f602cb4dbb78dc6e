#pragma once

#include <cstdint>
#include <limits>

#include "sotto/core/config.hpp"

namespace sotto {

/// How data are read and chance is seeded. The same on every rank.
struct training_options {
    std::int64_t batch_size = 32;  // examples a rank reads for one step
    std::uint64_t seed = 0;        // of starting values and of the order of the data
    bool shuffle = true;           // whether the order of the data is another one in each epoch

    void describe(auto&& field) const {
        field("batch_size", batch_size);
        field("seed", seed);
        field("shuffle", shuffle);
    }

    ///   errors  invalid_option: batch_size below 1
    const training_options& checked() const;
};

/// Train until this many passes over the data are complete.
struct epochs {
    std::int64_t count = 1;  // passes over the data
};

/// Train for this many steps, over as many passes as that takes.
struct steps {
    std::int64_t count = 1;  // of a rank
};

}  // namespace sotto

namespace sotto::detail {

/// How long `fit` trains: whichever bound comes first.
///   errors  invalid_option: a negative count
struct training_length {
    /// Passes over the data, at most.
    std::int64_t epochs_max = (std::numeric_limits<std::int64_t>::max)();
    std::int64_t steps_max = (std::numeric_limits<std::int64_t>::max)();  // steps, at most

    /// So many epochs.
    training_length(epochs length) : epochs_max(checked("epochs", length.count)) {}
    /// So many steps.
    training_length(steps length) : steps_max(checked("steps", length.count)) {}

private:
    static std::int64_t checked(const char* unit, std::int64_t count);
};

}  // namespace sotto::detail

namespace sotto {

/// Data that hold this rank's examples alone, of which other ranks may have more or fewer:
/// `fit(local_data{data}, ...)`.
template <class Data>
struct local_data {
    const Data& data;  // this rank's own
};
template <class Data>
local_data(const Data&) -> local_data<Data>;

/// Evaluate on these data after every `every` epochs, and after the last: `fit(train, epochs{10},
/// evaluate_on{test})`, or `evaluate_on{test, {.every = 5, .own = true}}`.
template <class Data>
struct evaluate_on {
    /// How often, and what.
    struct options {
        std::int64_t every = 1;  // epochs
        /// Where ranks learn in step by models that differ, as by gossip, also how good these are,
        /// each by itself: what somebody gets who takes the model of one rank. Every rank then
        /// measures all of the examples.
        bool own = false;
    };

    const Data& data;        // to evaluate on
    std::int64_t every = 1;  // epochs from one evaluation to the next
    bool own = false;        // whether ranks' own models are evaluated, too

    /// Every so many epochs.
    explicit evaluate_on(const Data& examples, std::int64_t epochs = 1)
        : data(examples), every(epochs) {}
    /// As the options say.
    evaluate_on(const Data& examples, options how)
        : data(examples), every(how.every), own(how.own) {}
};

}  // namespace sotto

namespace sotto::detail {
template <class Extra>
inline constexpr bool is_evaluation = false;
template <class Data>
inline constexpr bool is_evaluation<evaluate_on<Data>> = true;
template <class Data>
inline constexpr bool is_evaluation<const evaluate_on<Data>> = true;

/// The data set behind what `fit` is given.
template <class Data>
struct shared_or_own {
    using type = Data;
    static constexpr bool own = false;
};
template <class Data>
struct shared_or_own<local_data<Data>> {
    using type = Data;
    static constexpr bool own = true;
};
}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/options.ipp"
#endif
