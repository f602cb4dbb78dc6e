#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <locale>
#include <memory>
#include <mutex>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/adapters/detail/torch_forward.hpp"
#include "sotto/adapters/detail/torch_gradients.hpp"
#include "sotto/adapters/detail/torch_library.hpp"
#include "sotto/adapters/detail/torch_memory.hpp"
#include "sotto/adapters/detail/torch_parts.hpp"
#include "sotto/adapters/torch_loss.hpp"
#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/saved_model.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/losses/cross_entropy.hpp"
#include "sotto/losses/loss.hpp"
#include "sotto/models/gradient_source.hpp"

namespace sotto {

/// A LibTorch module as a model: `torch_model model{net, {.input = {3, 32, 32}}}`, where net is a
/// holder (TORCH_MODULE) or a std::shared_ptr. The module is shared with the caller and may have
/// only one model.
///
/// Its parameters become views of one memory block, in the order of named_modules(). A call of this
/// model exchanges that block for the given span, and does the same for gradients, so a step copies
/// nothing. Between calls the module has its initial values, or those set by `load_parameters` or
/// `write_back`.
///   shape   parameters: those with requires_grad. Others never change and are not part of the
///           layout; ranks compare their digest, and so does a reader of a checkpoint.
///           buffers: all of float32, and scalar counts (num_batches_tracked) as floats; other
///           integers never change. They start as the module has them, or as `load_parameters` sets
///           them
///   batch   the type Forward takes, `forward(module, batch) -> at::Tensor`. Without Forward a
///           labelled batch as [examples, input...], which the module must not change
///   loss    a sotto::loss of the logits and labels (torch_loss if written with torch): the model
///           is then a predictor. Otherwise a function (output, batch) -> at::Tensor of one number
///   mode    calls train() for gradients and eval() for predictions if the module is in the other
///           mode. A module that keeps parts of itself in eval() must override train()
///   random  `reseed` seeds torch's own generator, which all ranks of a process share. With dropout
///           a run repeats its bits only if each rank is a process
///   cost    torch allocates and frees memory at every step; the adapter allocates only a few
///           handles. The program sets torch's threads: at::set_num_threads(1) if ranks share a
///           machine
///   errors  invalid_option: as torch_parts; a shape or number of outputs that does not fit; sizes
///           of spans; a module whose memory was replaced (moved, converted or loaded) after the
///           model was made. Exceptions of torch pass through
template <class Module, class Loss = cross_entropy, class Forward = detail::torch_inputs>
class torch_model {
    static_assert(detail::holds_torch_module<Module>,
                  "torch_model: the first argument must be a module of LibTorch: a holder made by "
                  "TORCH_MODULE, or a std::shared_ptr");

    using implementation =
        std::remove_reference_t<decltype(*detail::torch_pointer(std::declval<const Module&>()))>;
    static constexpr bool predicts = sotto::loss<Loss>;

public:
    using batch_type = typename detail::torch_batch<Forward>::type;

private:
    static_assert(detail::torch_passes<implementation, Forward, batch_type>,
                  "torch_model: the module's forward must take one at::Tensor and return one; else "
                  "the fourth argument must be a function (module&, const batch&) -> at::Tensor "
                  "that names both types: with auto& it takes a labelled_batch");
    static_assert(
        predicts ||
            std::is_invocable_r_v<at::Tensor, const Loss&, const at::Tensor&, const batch_type&>,
        "torch_model: the loss must be a sotto::loss, such as cross_entropy or "
        "torch_loss{function}, or a function (const at::Tensor& output, const batch&) "
        "-> at::Tensor");
    static_assert(
        !predicts || requires(const batch_type& batch) { batch.labels(); },
        "torch_model: a sotto::loss asks for labels, which the batch has not: it needs "
        "labels() -> span<const int32_t>, or a loss (const at::Tensor& output, const "
        "batch&) -> at::Tensor");

public:
    /// Input format and starting values of a torch_model.
    struct options {
        std::vector<std::int64_t> input{};  // shape of an example; empty: one dimension
        std::int64_t outputs = 0;           // logits per label; 0: taken from the module
        /// Draws starting values into the module's parameters, the same for the same stream.
        /// Torch's own generator is seeded from that stream, so it gives the same values if no
        /// other thread draws from it. Empty: the module's values.
        std::function<void(::torch::nn::Module&, random_stream)> draw{};
    };

    /// Turns the module's values into views. Ranks on threads need one module each.
    explicit torch_model(const Module& module, options chosen = {}, Loss criterion = {},
                         Forward forward = {})
        : torch_model(detail::torch_pointer(module), std::move(chosen), std::move(criterion),
                      std::move(forward), made{}) {}

    torch_model(const torch_model&) = delete;
    torch_model& operator=(const torch_model&) = delete;

    const sotto::layout& layout() const noexcept { return parts_.parameters; }
    /// The module, with its initial values or those of the last write_back.
    const std::shared_ptr<implementation>& module() const noexcept { return module_; }

    void initialise(std::span<float> parameters, random_stream random) const {
        check_parameters("parameters", parameters.size());
        check_memory();
        std::ranges::copy(values_.values(), parameters.begin());
        if (!options_.draw) return;
        const std::lock_guard one_at_a_time(drawing());
        seed(random);
        const auto here = values_.lend(parameters);
        const at::NoGradGuard none;
        options_.draw(*module_, random);
        check_memory();
    }

    /// Writes parameters to the module, for use after training.
    void write_back(std::span<const float> parameters) {
        check_parameters("parameters", parameters.size());
        check_memory();
        std::ranges::copy(parameters, values_.values().begin());
        read_counters();
    }

    /// Loads parameters and buffers, which replace those of the module or of `draw`:
    /// `model.load_parameters(load_model("model.safetensors"))`. The file has no parameters that do
    /// not learn; the module must have those. Ranks that load different values are rejected. Call
    /// this before making the trainer: an existing trainer keeps its parameters but gets these
    /// buffers. From a file of another program, such as PyTorch, tensors are read by name and other
    /// names are skipped.
    ///   errors  mismatch: the file is of another model, see saved_model::selected; invalid_option:
    ///           the module's memory was replaced. Nothing has changed then
    void load_parameters(const saved_model& file) {
        const saved_model learnt = file.selected(layout(), buffer_layout());
        learnt.require_finite();
        check_memory();
        begins_with_ = learnt.identity();
        options_.draw = nullptr;
        std::ranges::copy(learnt.buffers, first_.begin());
        reset_buffers();
        write_back(learnt.parameters);
    }

    const sotto::layout& buffer_layout() const noexcept { return parts_.buffers; }
    std::span<float> buffers() noexcept { return kept_.values(); }
    void reset_buffers() noexcept { std::ranges::copy(first_, kept_.values().begin()); }

    void reseed(random_stream random) const { seed(random); }

    double gradient(std::span<const float> parameters, const batch_type& batch,
                    std::span<float> out, auto&& on_ready) {
        if constexpr (predicts) {
            const std::span<const float> logits = forward(parameters, batch);
            logits_gradient_.resize(logits.size());
            const double mean = loss_.gradient(logits, batch.labels(), logits_gradient_);
            backward(parameters, batch, logits_gradient_, out, on_ready);
            return mean;
        } else {
            check_parameters("parameters", parameters.size());
            check_parameters("gradient", out.size());
            const auto here = values_.lend(parameters);
            const at::Tensor mean = one_number(loss_(train(batch), batch));
            gradients_.write(mean, at::Tensor(), layout(), out, on_ready);
            return mean.template item<double>();
        }
    }

    /// Returns the loss function's value for a batch, as in an evaluation.
    double loss(std::span<const float> parameters, const batch_type& batch) requires(!predicts) {
        check_parameters("parameters", parameters.size());
        const auto here = values_.lend(parameters);
        const at::NoGradGuard none;
        return one_number(loss_(evaluate(batch), batch)).template item<double>();
    }

    const Loss& loss() const noexcept requires predicts { return loss_; }  // of logits and labels

    std::int64_t outputs() const noexcept requires predicts { return options_.outputs; }

    std::span<const float> forward(std::span<const float> parameters,
                                   const batch_type& batch) requires predicts {
        check_parameters("parameters", parameters.size());
        output_ = at::Tensor();
        forwarded_ = -1;  // until the pass has completed
        const auto labels = std::ssize(batch.labels());
        if (labels > 0) {
            const auto here = values_.lend(parameters);
            output_ = train(batch);
            logits_ = logits_of(output_, labels);
        }
        forwarded_ = labels;
        return shown(logits_, labels);
    }

    void backward(std::span<const float> parameters, const batch_type& batch,
                  std::span<const float> logits_gradient, std::span<float> out,
                  auto&& on_ready) requires predicts {
        check_parameters("parameters", parameters.size());
        check_parameters("gradient", out.size());
        const auto labels = std::ssize(batch.labels());
        if (labels != forwarded_)
            throw invalid_option(
                "torch_model: backward on a batch of " + std::to_string(labels) +
                " labels; expected the batch given to forward, " +
                (forwarded_ < 0 ? "which was not called since" : std::to_string(forwarded_)));
        if (std::ssize(logits_gradient) != labels * outputs())
            throw invalid_option("torch_model: the gradient of the logits has " +
                                 std::to_string(logits_gradient.size()) + " values; expected " +
                                 std::to_string(labels) + " x " + std::to_string(outputs()));
        forwarded_ = -1;
        if (labels == 0) {
            std::ranges::fill(out, 0.0f);
            return;
        }
        check_memory();
        const auto here = values_.lend(parameters);
        const at::Tensor root = std::exchange(output_, at::Tensor());  // freed with its graph
        const at::Tensor given = ::torch::from_blob(const_cast<float*>(logits_gradient.data()),
                                                    root.sizes(), ::torch::kFloat32);
        gradients_.write(root, given, layout(), out, on_ready);
    }

    std::span<const float> predict(std::span<const float> parameters,
                                   const batch_type& batch) requires predicts {
        check_parameters("parameters", parameters.size());
        const auto labels = std::ssize(batch.labels());
        if (labels > 0) {
            const auto here = values_.lend(parameters);
            const at::NoGradGuard none;
            predicted_ = logits_of(evaluate(batch), labels);
        }
        return shown(predicted_, labels);
    }

    /// Predicts with the buffers of another model of this kind that belong to its parameters.
    std::span<const float> predict(std::span<const float> parameters,
                                   std::span<const float> buffers,
                                   const batch_type& batch) requires predicts {
        if (buffers.size() != first_.size())
            throw invalid_option("torch_model: " + std::to_string(buffers.size()) +
                                 " buffers; expected " + std::to_string(first_.size()));
        const auto here = kept_.lend(buffers);
        return predict(parameters, batch);
    }

    void describe(auto&& field) const {
        std::ostringstream structure;
        structure.imbue(std::locale::classic());  // equal on ranks with other locales
        structure << *module_;
        std::string input;
        for (const std::int64_t extent : options_.input)
            input += (input.empty() ? "" : " x ") + std::to_string(extent);
        field("module", std::string_view(module_->name()));
        const auto digest =
            detail::checkpoint::digest_of(std::as_bytes(std::span(structure.view())));
        field("structure", std::string_view(detail::checkpoint::hex(digest)));
        field("input", std::string_view(input));
        field("outputs", options_.outputs);
        field("fixed", std::string_view(fixed_));
        if (!begins_with_.empty()) field("begins_with", std::string_view(begins_with_));
        field("loss", loss_);
    }

private:
    struct made {};

    torch_model(std::shared_ptr<implementation> module, options chosen, Loss criterion,
                Forward forward, made)
        : module_(required(std::move(module))),
          options_(std::move(chosen)),
          loss_(std::move(criterion)),
          forward_(std::move(forward)),
          parts_(*module_),
          fixed_(parts_.fixed()),
          values_(parts_.parameters, detail::torch_memory::kind::owned),
          kept_(parts_.buffers, detail::torch_memory::kind::owned),
          gradients_(parts_.parameters, move_into(values_, parts_.learnt)) {
        move_into(kept_, parts_.kept);
        write_counters();
        first_.assign(buffers().begin(), buffers().end());
        for (const std::int64_t extent : options_.input)
            if (extent < 1)
                throw invalid_option("torch_model: input has an extent of " +
                                     std::to_string(extent) + "; expected at least 1");
        if constexpr (predicts) ask_outputs();
    }

    static std::shared_ptr<implementation> required(std::shared_ptr<implementation> module) {
        if (!module) throw invalid_option("torch_model: there is no module; expected one");
        return module;
    }

    /// Moves the values too; undefined tensors stay undefined.
    static const std::vector<at::Tensor>& move_into(const detail::torch_memory& memory,
                                                    const std::vector<at::Tensor>& tensors) {
        const at::NoGradGuard none;
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            at::Tensor one = tensors[i];
            if (!one.defined()) continue;
            const at::Tensor& to = memory.views()[i];
            to.copy_(one.detach());
            one.set_data(to);
        }
        return tensors;
    }

    void ask_outputs() {
        if (options_.outputs < 0)
            throw invalid_option("torch_model: outputs is " + std::to_string(options_.outputs) +
                                 "; expected at least 1, or 0 to ask the module");
        if (options_.outputs > 0) return;
        if constexpr (std::same_as<Forward, detail::torch_inputs>) {
            if (!options_.input.empty()) {
                std::vector<std::int64_t> shape{1};
                shape.insert(shape.end(), options_.input.begin(), options_.input.end());
                const at::NoGradGuard none;
                const bool training = module_->is_training();
                module_->eval();
                const at::Tensor said = module_->forward(::torch::zeros(shape));
                module_->train(training);
                if (said.dim() > 0) options_.outputs = said.size(-1);
                if (options_.outputs > 0) return;
            }
        }
        throw invalid_option(
            "torch_model: outputs is 0; expected the number of logits for each label, or the "
            "`input` shape by which the module can be asked");
    }

    at::Tensor train(const batch_type& batch) { return pass(batch, true); }
    at::Tensor evaluate(const batch_type& batch) { return pass(batch, false); }

    at::Tensor pass(const batch_type& batch, bool training) {
        check_memory();
        if (module_->is_training() != training) module_->train(training);
        read_counters();
        const at::AutoGradMode differentiating(training);
        at::Tensor output;
        if constexpr (std::same_as<Forward, detail::torch_inputs>)
            output = module_->forward(inputs_of(batch));
        else
            output = forward_(*module_, batch);
        if (training) write_counters();
        if (!output.defined())
            throw invalid_option("torch_model: the module returned no tensor; expected one");
        return output;
    }

    at::Tensor inputs_of(const batch_type& batch) {
        std::int64_t size = 1;
        shape_.assign(1, batch.size());
        for (const std::int64_t extent : options_.input) {
            shape_.push_back(extent);
            size *= extent;
        }
        if (options_.input.empty()) shape_.push_back(size = batch.width());
        if (batch.width() != size)
            throw invalid_option("torch_model: the batch has examples of " +
                                 std::to_string(batch.width()) + " values; expected " +
                                 std::to_string(size) + ", those of the input's shape");
        return ::torch::from_blob(const_cast<float*>(batch.inputs().data()), shape_,
                                  ::torch::kFloat32);
    }

    /// Returns contiguous logits; copies only if the module's output is not contiguous.
    at::Tensor logits_of(const at::Tensor& output, std::int64_t labels) const {
        if (output.scalar_type() != c10::kFloat || output.numel() != labels * options_.outputs)
            throw invalid_option("torch_model: the module returned " +
                                 std::to_string(output.numel()) + " values of type " +
                                 c10::toString(output.scalar_type()) + " for " +
                                 std::to_string(labels) + " labels; expected " +
                                 std::to_string(options_.outputs) + " logits for each, of Float");
        return output.detach().contiguous();
    }

    std::span<const float> shown(const at::Tensor& logits, std::int64_t labels) const noexcept {
        if (labels == 0) return {};
        return {static_cast<const float*>(logits.data_ptr()),
                static_cast<std::size_t>(labels * options_.outputs)};
    }

    static const at::Tensor& one_number(const at::Tensor& loss) {
        if (!loss.defined() || loss.numel() != 1)
            throw invalid_option("torch_model: the loss has " +
                                 std::to_string(loss.defined() ? loss.numel() : 0) +
                                 " values; expected 1, the mean over the batch");
        return loss;
    }

    void read_counters() const noexcept {
        for (const auto& c : parts_.counters)
            *static_cast<std::int64_t*>(c.count.data_ptr()) = std::llround(place_of(c));
    }
    void write_counters() const noexcept {
        for (const auto& c : parts_.counters)
            place_of(c) = static_cast<float>(*static_cast<const std::int64_t*>(c.count.data_ptr()));
    }
    float& place_of(const detail::torch_parts::counter& c) const noexcept {
        return parts_.buffers[c.index].of(kept_.values()).front();
    }

    void check_parameters(const char* what, std::size_t size) const {
        if (static_cast<std::int64_t>(size) != layout().size())
            throw invalid_option(std::string("torch_model: the span of ") + what + " has " +
                                 std::to_string(size) + " floats; expected " +
                                 std::to_string(layout().size()) + ", the layout's size");
    }

    void check_memory() const {
        for (std::size_t i = 0; i < parts_.learnt.size(); ++i)
            if (!values_.holds(parts_.learnt[i]))
                refuse_memory("parameter", layout()[static_cast<std::int64_t>(i)]);
        for (std::size_t i = 0; i < parts_.kept.size(); ++i)
            if (parts_.kept[i].defined() && !kept_.holds(parts_.kept[i]))
                refuse_memory("buffer", parts_.buffers[static_cast<std::int64_t>(i)]);
    }
    [[noreturn]] static void refuse_memory(const char* what, const tensor& which) {
        throw invalid_option(std::string("torch_model: ") + what + " '" + which.name +
                             "' was given other memory after the model was made; expected that a "
                             "module is loaded, moved or converted before");
    }

    static void seed(random_stream random) {
        auto generator = at::detail::getDefaultCPUGenerator();
        const std::lock_guard alone(generator.mutex());
        generator.set_current_seed(random.key());
    }
    static std::mutex& drawing() {
        static std::mutex one;
        return one;
    }

    std::shared_ptr<implementation> module_;
    options options_;
    Loss loss_;
    Forward forward_;
    detail::torch_parts parts_;
    std::string fixed_, begins_with_;
    detail::torch_memory values_, kept_;  // parameters and buffers
    detail::torch_gradients gradients_;
    std::vector<float> first_;  // initial buffers
    std::vector<std::int64_t> shape_;
    std::vector<float> logits_gradient_;
    at::Tensor output_;  // of the last forward, with its graph
    at::Tensor logits_, predicted_;
    std::int64_t forwarded_ = -1;  // labels of the last forward; -1: none
};

}  // namespace sotto
