// The least that satisfies each concept, and a trainer of it with every member instantiated: the
// library asks for no more than its concepts say.

#include <cstdint>
#include <span>

#include "sotto/compressors/compressor.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/data/dataset.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/in_process.hpp"
#include "static/least_transport.hpp"

// Named, so that what is only declared may be used: nothing of this is linked.
namespace archetypes {

using sotto::testing::least_transport;

struct least_batch {};

struct least_model {
    using batch_type = least_batch;
    const sotto::layout& layout() const;
    void initialise(std::span<float>, sotto::random_stream) const;
    double gradient(std::span<const float>, const batch_type&, std::span<float>, auto&&) {
        return 0.0;
    }
};
static_assert(sotto::gradient_source<least_model> && !sotto::predictor<least_model>);

struct least_measurable : least_model {
    double loss(std::span<const float>, const batch_type&);
};
static_assert(sotto::detail::measurable<least_measurable> &&
              !sotto::detail::measurable<least_model>);

struct least_dataset {
    using batch_type = least_batch;
    std::int64_t size() const;
    void gather(std::span<const std::int64_t>, batch_type&) const;
};
static_assert(sotto::dataset<least_dataset>);

struct least_compressor {
    struct state {
        void encode(const sotto::tensor&, std::span<const float>, sotto::bytes&);
        void decode_add(const sotto::tensor&, sotto::byte_view, std::span<float>);
    };
    state bind(const sotto::layout&) const;
};
static_assert(sotto::compressor<least_compressor>);
static_assert(!sotto::detail::packs<least_compressor> &&
              !sotto::detail::summable<least_compressor> &&
              !sotto::detail::sparse<least_compressor> &&
              !sotto::detail::holds_momentum<least_compressor>);

struct least_optimizer {
    struct state {
        void begin_step(const sotto::step_info&, std::span<const float>);
        void update(const sotto::tensor&, std::span<float>, std::span<const float>) noexcept;
    };
    state bind(const sotto::layout&) const;
};
static_assert(sotto::optimizer<least_optimizer> &&
              !sotto::detail::linear_optimizer<least_optimizer>);

struct least_strategy {
    static constexpr bool synchronous = false;
    struct state {
        sotto::detail::data::share share();
        sotto::detail::epoch_agreement begin_epoch(const sotto::detail::epoch_plan&);
        template <class Model>
        sotto::round_report round(sotto::detail::round_input<Model>&, std::span<float>);
    };
    template <class Transport>
    state bind(const sotto::layout&, Transport&) const;
};
static_assert(sotto::strategy<least_strategy>);
static_assert(!sotto::detail::conducting::has_start_groups<least_strategy::state>);

struct told_of_beginnings {
    void on_begin(const sotto::run_info&);
};
struct told_of_steps {
    void on_step(const sotto::step_report&);
};
struct told_of_epochs {
    void on_epoch(const sotto::epoch_report&);
};
struct told_of_ends {
    void on_end(const sotto::fit_report&);
};
struct called_for_epochs {
    sotto::fit_control operator()(const sotto::epoch_report&);
};
static_assert(sotto::callback<told_of_beginnings> && sotto::callback<told_of_steps> &&
              sotto::callback<told_of_epochs> && sotto::callback<told_of_ends> &&
              sotto::callback<called_for_epochs>);
static_assert(!sotto::callback<least_dataset> && !sotto::callback<int>);

// Near misses.
struct without_bind {};
struct only_encodes {
    struct state {
        void encode(const sotto::tensor&, std::span<const float>, sotto::bytes&);
    };
    state bind(const sotto::layout&) const;
};
static_assert(!sotto::compressor<without_bind> && !sotto::compressor<only_encodes>);
static_assert(sotto::detail::encodes<only_encodes> && !sotto::detail::decodes<only_encodes>);
static_assert(!sotto::optimizer<least_compressor> && !sotto::compressor<least_optimizer>);
static_assert(!sotto::strategy<least_optimizer>);

using least_all_reduce = sotto::all_reduce<least_optimizer, least_compressor>;

template <class Strategy, class Transport>
void train(least_model& model, Transport& transport, const Strategy& strategy,
           const least_dataset& data) {
    sotto::trainer trainer{model, strategy, transport};
    trainer.fit(data, sotto::epochs{1});
    trainer.fit(sotto::local_data{data}, sotto::steps{1}, told_of_beginnings{}, told_of_steps{},
                told_of_epochs{}, told_of_ends{}, called_for_epochs{});
}

template <class Strategy, class Transport>
void evaluate(least_measurable& model, Transport& transport, const Strategy& strategy,
              const least_dataset& data) {
    sotto::trainer trainer{model, strategy, transport};
    trainer.fit(data, sotto::epochs{1}, sotto::evaluate_on{data});
    trainer.evaluate(data);
}

}  // namespace archetypes

using namespace archetypes;

template class sotto::trainer<least_model, least_all_reduce, least_transport>;
template class sotto::trainer<least_model, least_strategy, least_transport>;

template void archetypes::train(least_model&, least_transport&, const least_all_reduce&,
                                const least_dataset&);
template void archetypes::train(least_model&, least_transport&, const least_strategy&,
                                const least_dataset&);
template void archetypes::train(least_model&, sotto::in_process&, const least_all_reduce&,
                                const least_dataset&);
template void archetypes::evaluate(least_measurable&, least_transport&, const least_all_reduce&,
                                   const least_dataset&);
template void archetypes::evaluate(least_measurable&, least_transport&, const least_strategy&,
                                   const least_dataset&);
