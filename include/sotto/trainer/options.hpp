#pragma once

#include <cstdint>
#include <limits>

#include "sotto/core/config.hpp"

namespace sotto {

/// How data are read and random streams are seeded. The same on every rank.
struct training_options {
    std::int64_t batch_size = 32;  // examples that a rank reads for one step
    std::uint64_t seed = 0;        // seed of initial values and of the order of the data
    bool shuffle = true;           // true: a new order of the data in each epoch

    void describe(auto&& field) const {
        field("batch_size", batch_size);
        field("seed", seed);
        field("shuffle", shuffle);
    }

    /// Returns these options.
    ///   errors  invalid_option: batch_size below 1
    const training_options& checked() const;
};

/// Trains until this many passes over the data are complete.
struct epochs {
    std::int64_t count = 1;  // number of passes over the data
};

/// Trains for this many steps, over as many passes as needed.
struct steps {
    std::int64_t count = 1;  // number of steps of a rank
};

}  // namespace sotto

namespace sotto::detail {

/// Length of a `fit`: the first bound that is reached.
///   errors  invalid_option: a negative count
struct training_length {
    /// Most passes over the data.
    std::int64_t epochs_max = (std::numeric_limits<std::int64_t>::max)();
    std::int64_t steps_max = (std::numeric_limits<std::int64_t>::max)();  // most steps

    /// For this many epochs.
    training_length(epochs length) : epochs_max(checked("epochs", length.count)) {}
    /// For this many steps.
    training_length(steps length) : steps_max(checked("steps", length.count)) {}

private:
    static std::int64_t checked(const char* unit, std::int64_t count);
};

}  // namespace sotto::detail

namespace sotto {

/// Data with this rank's examples only; other ranks may have more or fewer:
/// `fit(local_data{data}, ...)`.
template <class Data>
struct local_data {
    const Data& data;  // data of this rank
};
template <class Data>
local_data(const Data&) -> local_data<Data>;

/// Evaluates on these data after every `every` epochs, and after the last:
/// `fit(train, epochs{10}, evaluate_on{test})`, or `evaluate_on{test, {.every = 5, .own = true}}`.
template <class Data>
struct evaluate_on {
    /// Selects when and what to evaluate.
    struct options {
        std::int64_t every = 1;  // epochs from one evaluation to the next
        /// If ranks learn in step with different models, as with gossip, also evaluates each rank's
        /// model alone: the quality of the model of a single rank. Every rank then measures all
        /// examples.
        bool own = false;
    };

    const Data& data;        // data to evaluate on
    std::int64_t every = 1;  // epochs from one evaluation to the next
    bool own = false;        // true: also evaluate the ranks' own models

    /// Evaluates every `epochs` epochs.
    explicit evaluate_on(const Data& examples, std::int64_t epochs = 1)
        : data(examples), every(epochs) {}
    /// Evaluates according to the options.
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

/// The data set behind the argument of `fit`.
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
