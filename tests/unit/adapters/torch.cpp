#include "support/with_torch.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/losses/cross_entropy.hpp"
#include "sotto/models/gradient_source.hpp"
#include "unit/adapters/torch_nets.hpp"

using namespace sotto;
using torch_test::nothing;

namespace {

using floats = std::vector<float>;
using convolving_model = torch_model<std::shared_ptr<torch_test::convolving_impl>>;
static_assert(predictor<convolving_model> && sotto::detail::with_buffers<convolving_model>);

bool inside(const void* place, std::span<const float> all) {
    const auto* const at = static_cast<const float*>(place);
    return at >= all.data() && at < all.data() + all.size();
}

double apart(std::span<const float> a, std::span<const float> b) {
    double most = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i)
        most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
    return a.size() == b.size() ? most : INFINITY;
}

std::string refusal_of(auto&& make) {
    try {
        make();
    } catch (const invalid_option& refused) {
        return refused.what();
    }
    return "none";
}

}  // namespace

TEST_CASE("a module's parameters have its names, shapes and kinds, its buffers theirs") {
    const convolving_model model{torch_test::convolving(), {.input = {1, 6, 6}}};
    CHECK(model.outputs() == 4);  // as the module says
    const auto& tensors = model.layout();
    REQUIRE(tensors.tensors().size() == 5);
    CHECK(tensors[0].name == "conv.weight");
    CHECK(tensors[0].shape == std::vector<std::int64_t>{3, 1, 3, 3});
    CHECK(tensors[0].kind == tensor_kind::weight);
    CHECK(tensors[1].name == "norm.weight");
    CHECK(tensors[1].kind == tensor_kind::normalisation);
    CHECK(tensors[2].kind == tensor_kind::normalisation);
    CHECK(tensors[3].name == "head.weight");
    CHECK(tensors[4].name == "head.bias");
    CHECK(tensors[4].kind == tensor_kind::bias);
    const auto& buffers = model.buffer_layout();
    REQUIRE(buffers.tensors().size() == 3);
    CHECK(buffers.find("norm.running_mean")->size == 3);
    CHECK(buffers.find("norm.num_batches_tracked")->size == 1);
    CHECK(sotto::detail::description{}.add("model", model).text().find("model.fixed = nothing") !=
          std::string::npos);
}

TEST_CASE("while a call lasts parameters and gradients are views of the spans that it was given") {
    const auto net = torch_test::convolving();
    convolving_model model{net, {.input = {1, 6, 6}}};
    const auto batch = torch_test::batch_of(torch_test::quarters(8, 1), 8);
    const floats parameters = torch_test::start_of(model), others(parameters.size(), 0.5f);
    floats gradient(parameters.size(), std::nanf(""));
    const void* const own = net->conv->weight.data_ptr();

    std::vector<std::string> announced;
    model.gradient(parameters, batch, gradient, [&](const tensor& t) {
        announced.push_back(t.name);
        const auto part = t.of(std::span<const float>(gradient));
        CHECK(std::ranges::none_of(part, [](float g) { return std::isnan(g); }));
        if (t.name == "head.weight")
            CHECK(net->head->weight.grad().data_ptr() == static_cast<const void*>(part.data()));
    });
    CHECK(inside(net->weight_at, parameters));
    CHECK(net->trained);
    CHECK(announced.size() == 5);
    CHECK(announced.back() == "conv.weight");
    model.predict(others, batch);
    CHECK(net->weight_at == static_cast<const void*>(others.data()));
    CHECK_FALSE(net->trained);
    // Then they are the module's own again, and nothing points where it must not.
    CHECK(net->conv->weight.data_ptr() == own);
    CHECK(net->conv->weight.storage().data() == own);  // one memory for all
    CHECK(net->head->bias.storage().data() == own);
    CHECK_FALSE(net->conv->weight.grad().defined());
    CHECK(apart({net->conv->weight.data_ptr<float>(), 27}, std::span(parameters).first(27)) == 0.0);

    model.write_back(others);
    CHECK(net->head->bias[0].item<float>() == 0.5f);
}

TEST_CASE("a module outlives its model, with what was written back") {
    const auto net = torch_test::convolving();
    {
        convolving_model model{net, {.input = {1, 6, 6}}};
        model.write_back(floats(static_cast<std::size_t>(model.layout().size()), 0.25f));
    }
    CHECK(net->conv->weight.sum().item<float>() == 27 * 0.25f);
    auto loss = net->forward(torch::ones({2, 1, 6, 6})).sum();
    loss.backward();  // by its own means
    CHECK(net->head->bias.grad().sum().item<float>() == 8.0f);
}

TEST_CASE("the gradient is that of autograd") {
    const auto net = torch_test::convolving(), other = torch_test::convolving();
    convolving_model model{net, {.input = {1, 6, 6}}};
    const auto batch = torch_test::batch_of(torch_test::quarters(16, 1), 16);
    const floats parameters = torch_test::start_of(model);
    floats gradient(parameters.size());
    const double loss = model.gradient(parameters, batch, gradient, nothing{});

    const auto inputs = torch::from_blob(const_cast<float*>(batch.inputs().data()), {16, 1, 6, 6});
    const auto labels =
        torch::tensor(std::vector<std::int64_t>(batch.labels().begin(), batch.labels().end()));
    const auto expected = torch::nn::functional::cross_entropy(other->forward(inputs), labels);
    expected.backward();
    CHECK(loss == doctest::Approx(expected.item<double>()).epsilon(1e-6));
    std::size_t at = 0;
    for (const at::Tensor& p : other->parameters()) {
        const auto count = static_cast<std::size_t>(p.numel());
        CHECK(apart({p.grad().data_ptr<float>(), count},
                    std::span<const float>(gradient).subspan(at, count)) <= 1e-6);
        at += count;
    }
    CHECK(at == gradient.size());
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(net->norm->running_mean.data_ptr<float>()[i] ==
              other->norm->running_mean.data_ptr<float>()[i]);

    // The same in parts, with a prediction elsewhere in between.
    model.reset_buffers();
    const auto logits = model.forward(parameters, batch);
    floats of_logits(logits.size()), in_parts(parameters.size(), std::nanf(""));
    CHECK(model.loss().gradient(logits, batch.labels(), of_logits) == loss);
    const floats elsewhere(parameters.size(), 0.1f), kept(logits.begin(), logits.end());
    model.predict(elsewhere, batch);
    CHECK(std::ranges::equal(kept, logits));
    model.backward(parameters, batch, of_logits, in_parts, nothing{});
    CHECK(in_parts == gradient);

    // A user who clears gradients of the module does not take them from the model.
    net->zero_grad();
    for (at::Tensor p : net->parameters()) p.mutable_grad() = at::Tensor();
    model.reset_buffers();
    CHECK(model.gradient(parameters, batch, in_parts, nothing{}) == loss);
    CHECK(in_parts == gradient);
}

TEST_CASE("no examples have no gradient, and what does not fit is refused") {
    convolving_model model{torch_test::convolving(), {.input = {1, 6, 6}}};
    const floats parameters = torch_test::start_of(model);
    floats gradient(parameters.size(), 1.0f);
    CHECK(model.gradient(parameters, {}, gradient, nothing{}) == 0.0);
    CHECK(std::ranges::all_of(gradient, [](float g) { return g == 0.0f; }));
    CHECK(model.predict(parameters, data::labelled_batch{}).empty());

    const auto batch = torch_test::batch_of(torch_test::quarters(4, 1), 4);
    const auto short_of_one = std::span(parameters).first(3);
    CHECK_THROWS_AS(model.predict(short_of_one, batch), invalid_option);
    CHECK_THROWS_AS(model.predict(parameters, short_of_one, batch), invalid_option);
    CHECK_THROWS_AS(model.gradient(short_of_one, batch, gradient, nothing{}), invalid_option);
    CHECK_THROWS_AS(model.backward(parameters, batch, floats(16), gradient, nothing{}),
                    invalid_option);
    model.forward(parameters, batch);
    CHECK_THROWS_AS(model.backward(parameters, batch, floats(15), gradient, nothing{}),
                    invalid_option);
    model.backward(parameters, batch, floats(16), gradient, nothing{});
    CHECK_THROWS_AS(model.backward(parameters, batch, floats(16), gradient, nothing{}),
                    invalid_option);
    data::labelled_batch narrow(4, 35);
    CHECK(refusal_of([&] { model.predict(parameters, narrow); }) ==
          "torch_model: the batch has examples of 35 values; expected 36, those of the input's "
          "shape");
}

TEST_CASE("what on_ready throws comes out as it was, and leaves nothing behind") {
    const auto net = torch_test::convolving();
    convolving_model model{net, {.input = {1, 6, 6}}};
    const auto batch = torch_test::batch_of(torch_test::quarters(8, 1), 8);
    const floats parameters = torch_test::start_of(model);
    floats gradient(parameters.size()), again(parameters.size());
    const double loss = model.gradient(parameters, batch, gradient, nothing{});
    int calls = 0;
    const auto fails = [&](const tensor&) {
        if (++calls == 2) throw std::out_of_range("planned");
    };
    CHECK_THROWS_WITH_AS(model.gradient(parameters, batch, again, fails), "planned",
                         std::out_of_range);
    CHECK(calls == 2);
    CHECK_FALSE(net->head->weight.grad().defined());
    model.reset_buffers();
    CHECK(model.gradient(parameters, batch, again, nothing{}) == loss);
    CHECK(again == gradient);
}

TEST_CASE("buffers begin as the module has them, and move while it learns and at no other time") {
    const auto net = torch_test::convolving();
    {
        torch::NoGradGuard none;
        net->norm->running_mean.fill_(0.125f);
        net->norm->num_batches_tracked.fill_(7);
    }
    convolving_model model{net, {.input = {1, 6, 6}}};
    const auto batch = torch_test::batch_of(torch_test::quarters(8, 1), 8);
    const floats parameters = torch_test::start_of(model);
    const auto buffers = model.buffers();
    const floats first(buffers.begin(), buffers.end());
    CHECK(first == floats{0.125f, 0.125f, 0.125f, 1.0f, 1.0f, 1.0f, 7.0f});
    const auto predicted = model.predict(parameters, batch);
    const floats before(predicted.begin(), predicted.end());
    CHECK(std::ranges::equal(buffers, first));
    CHECK(inside(net->mean_at, buffers));

    floats gradient(parameters.size());
    model.gradient(parameters, batch, gradient, nothing{});
    CHECK(buffers[6] == 8.0f);
    CHECK(net->norm->num_batches_tracked.item<std::int64_t>() == 8);
    CHECK(buffers[0] != first[0]);
    const floats moved(buffers.begin(), buffers.end());
    CHECK_FALSE(std::ranges::equal(model.predict(parameters, batch), before));
    CHECK(std::ranges::equal(model.predict(parameters, first, batch), before));
    CHECK(std::ranges::equal(buffers, moved));

    // Whoever writes to the span is read: a checkpoint, a mean over ranks.
    buffers[6] = 40.0f;
    model.gradient(parameters, batch, gradient, nothing{});
    CHECK(buffers[6] == 41.0f);
    model.reset_buffers();
    CHECK(std::ranges::equal(model.predict(parameters, batch), before));
}

namespace {

/// Two uses of one weight, and integers that never change.
struct sharing_impl : torch::nn::Module {
    at::Tensor weight, bias;

    explicit sharing_impl(bool view = false) {
        weight = register_parameter("weight", torch::eye(36).slice(0, 0, 4).clone());
        bias = register_parameter("bias", torch::zeros({4}));
        register_parameter("again",
                           view ? weight.detach().slice(0, 1, 3).requires_grad_() : weight);
        register_buffer("order", torch::arange(4));
    }
    at::Tensor forward(at::Tensor x) {
        return torch::linear(x, weight, bias) + torch::linear(x * x, weight);
    }
};

}  // namespace

TEST_CASE("a parameter that a module has twice is learnt once, by the sum of its uses") {
    torch_model model{std::make_shared<sharing_impl>(), {.outputs = 4}};
    REQUIRE(model.layout().tensors().size() == 2);
    CHECK(model.layout()[0].name == "weight");
    CHECK(model.buffer_layout().size() == 0);
    data::labelled_batch batch(1, 36);
    std::ranges::fill(batch.inputs(), 0.0f);
    batch.inputs()[30] = 3.0f;
    const floats parameters = torch_test::start_of(model);
    floats gradient(parameters.size());
    int announced = 0;
    model.forward(parameters, batch);
    const floats of_logits{1.0f, 0.0f, 0.0f, 2.0f};
    model.backward(parameters, batch, of_logits, gradient, [&](const tensor&) { ++announced; });
    CHECK(announced == 2);
    CHECK(gradient[30] == 3.0f + 9.0f);
    CHECK(gradient[3 * 36 + 30] == 2.0f * (3.0f + 9.0f));
    CHECK(gradient[4 * 36] == 1.0f);

    CHECK(refusal_of([] {
              torch_model{std::make_shared<sharing_impl>(true), {.outputs = 4}};
          }) ==
          "torch_model: parameters 'weight' and 'again' share memory; expected one tensor, "
          "registered twice");
}

TEST_CASE("what does not learn stays as it is and outside of the layout") {
    const auto net = torch_test::convolving();
    net->conv->weight.set_requires_grad(false);
    const auto before = net->conv->weight.clone();
    convolving_model model{net, {.input = {1, 6, 6}}};
    CHECK(model.layout()[0].name == "norm.weight");
    CHECK(model.layout().size() == 3 + 3 + 4 * 48 + 4);
    const auto batch = torch_test::batch_of(torch_test::quarters(8, 1), 8);
    const floats parameters = torch_test::start_of(model);
    floats gradient(parameters.size());
    model.gradient(parameters, batch, gradient, nothing{});
    CHECK(net->conv->weight.equal(before));
    CHECK_FALSE(net->conv->weight.grad().defined());

    // Its values are part of what a model says of itself: of others nobody goes on from.
    const std::string own = sotto::detail::description{}.add("model", model).text();
    const auto same = torch_test::convolving(), other = torch_test::convolving();
    same->conv->weight.set_requires_grad(false);
    other->conv->weight.set_requires_grad(false).mul_(2.0);
    CHECK(own == sotto::detail::description{}
                     .add("model", convolving_model{same, {.input = {1, 6, 6}}})
                     .text());
    CHECK(own != sotto::detail::description{}
                     .add("model", convolving_model{other, {.input = {1, 6, 6}}})
                     .text());
}

TEST_CASE("modules that cannot be a model are refused in a sentence") {
    const auto made = [](auto&& change, convolving_model::options options) {
        return refusal_of([&] {
            const auto net = torch_test::convolving();
            change(*net);
            convolving_model{net, options};
        });
    };
    const auto as_it_is = [](auto&) {};
    CHECK(made([](auto& net) { net.head->to(torch::kFloat64); }, {.outputs = 4}) ==
          "torch_model: parameter 'head.weight' is of type Double; expected Float: "
          "module.to(torch::kFloat32)");
    CHECK(made([](auto& net) { net.norm->running_var.set_data(torch::ones({3}, torch::kFloat64)); },
               {.outputs = 4}) ==
          "torch_model: buffer 'norm.running_var' is of type Double; expected Float: "
          "module.to(torch::kFloat32)");
    CHECK(made(as_it_is, {}) ==
          "torch_model: outputs is 0; expected the number of logits for each label, or the "
          "`input` shape by which the module can be asked");
    CHECK(made(
              [](auto& net) {
                  for (auto& p : net.parameters()) p.set_requires_grad(false);
              },
              {}) ==
          "torch_model: the module has no parameter that learns; expected one at least "
          "with requires_grad");
    CHECK(made(as_it_is, {.outputs = -1}) ==
          "torch_model: outputs is -1; expected at least 1, or 0 to ask the module");
    CHECK(made(as_it_is, {.input = {1, 0, 6}}) ==
          "torch_model: input has an extent of 0; expected at least 1");
    CHECK(refusal_of([] { torch_model{std::shared_ptr<torch_test::plain_impl>{}}; }) ==
          "torch_model: there is no module; expected one");

    // The module is one model's, and keeps the memory that it has for it.
    const auto net = torch_test::plain();
    torch_model model{net, {.input = {36}}};
    const floats parameters = torch_test::start_of(model);
    const torch_model second{net, {.input = {36}}};
    CHECK(refusal_of([&] {
              model.predict(parameters, torch_test::batch_of(torch_test::quarters(4, 1), 4));
          }) ==
          "torch_model: parameter 'first.weight' was given other memory after the model was "
          "made; expected that a module is loaded, moved or converted before");
}

TEST_CASE("a loss that is written with torch is a loss") {
    const torch_loss written{[](const at::Tensor& logits, const at::Tensor& labels) {
        return torch::nn::functional::cross_entropy(logits, labels);
    }};
    static_assert(loss<std::remove_const_t<decltype(written)>>);
    const floats logits{0.5f, -1.0f, 2.0f, 0.0f, 1.0f, -0.5f};
    const std::vector<std::int32_t> labels{2, 0};
    floats of_torch(6), own(6);
    CHECK(written.gradient(logits, labels, of_torch) ==
          doctest::Approx(cross_entropy{}.gradient(logits, labels, own)).epsilon(1e-6));
    CHECK(apart(of_torch, own) <= 1e-7);
    CHECK(written.value(logits, labels) ==
          doctest::Approx(cross_entropy{}.value(logits, labels)).epsilon(1e-6));
    CHECK(written.value({}, {}) == 0.0);
    CHECK_THROWS_AS(written.value(std::span(logits).first(5), labels), invalid_option);
    const torch_loss wrong{[](const at::Tensor& z, const at::Tensor&) { return z; }};
    CHECK(refusal_of([&] { wrong.value(logits, labels); }) ==
          "torch_loss: the function returned 6 values; expected 1, the mean over the labels");

    torch_model model{torch_test::plain(), {.input = {36}}, written};
    static_assert(predictor<decltype(model)>);
    torch_model by_ours{torch_test::plain(), {.input = {36}}};
    const auto batch = torch_test::batch_of(torch_test::quarters(8, 1), 8);
    const floats parameters = torch_test::start_of(model);
    floats a(parameters.size()), b(parameters.size());
    model.gradient(parameters, batch, a, nothing{});
    by_ours.gradient(parameters, batch, b, nothing{});
    CHECK(apart(a, b) <= 1e-6);
}

namespace {

/// No labels: numbers to be predicted from numbers.
struct pairs_batch {
    std::vector<float> x, y;
};

at::Tensor column(const std::vector<float>& values) {
    return torch::from_blob(const_cast<float*>(values.data()), {std::ssize(values), 1});
}

}  // namespace

TEST_CASE("torch_model: a forward function names its batch -> the model reads that") {
    using net = torch::nn::LinearImpl;
    const auto by_reference = [](net& linear, const pairs_batch& batch) {
        return linear.forward(column(batch.x));
    };
    const auto by_value = [](net& linear, pairs_batch batch) noexcept {
        return linear.forward(column(batch.x));
    };
    const auto generic = [](auto& linear, const auto& batch) -> at::Tensor {
        return linear.forward(column(batch.x));
    };
    using sotto::detail::torch_batch;
    static_assert(std::same_as<torch_batch<decltype(by_reference)>::type, pairs_batch>);
    static_assert(std::same_as<torch_batch<decltype(by_value)>::type, pairs_batch>);
    static_assert(std::same_as<torch_batch<decltype(+by_value)>::type, pairs_batch>);
    static_assert(std::same_as<torch_batch<decltype(generic)>::type, data::labelled_batch>);
}

TEST_CASE("batches and losses may be of any kind, given by functions") {
    const auto net = std::make_shared<torch::nn::LinearImpl>(1, 1);
    torch_model model{net,
                      {},
                      [](const at::Tensor& output, const pairs_batch& batch) {
                          return (output - column(batch.y)).pow(2).mean();
                      },
                      [](torch::nn::LinearImpl& linear, const pairs_batch& batch) {
                          return linear.forward(column(batch.x));
                      }};
    static_assert(gradient_source<decltype(model)> && !predictor<decltype(model)>);
    const floats parameters{2.0f, 1.0f};
    floats gradient(2);
    const pairs_batch batch{{1.0f, 2.0f}, {0.0f, 0.0f}};
    // (3^2 + 5^2) / 2; the means of 2 e x and 2 e.
    CHECK(model.gradient(parameters, batch, gradient, nothing{}) == doctest::Approx(17.0));
    CHECK(gradient == floats{13.0f, 8.0f});
    CHECK(model.loss(parameters, batch) == doctest::Approx(17.0));
    CHECK_FALSE(net->is_training());
}

TEST_CASE("starting values are the module's, or drawn from the stream that is given") {
    const auto draw = [](torch::nn::Module& module, random_stream) {
        for (auto& p : module.parameters()) p.normal_();
    };
    const torch_model as_is{torch_test::plain(), {.input = {36}}};
    CHECK(torch_test::start_of(as_is, 1) == torch_test::start_of(as_is, 2));
    const torch_model drawn{torch_test::plain(), {.input = {36}, .draw = draw}};
    const floats one = torch_test::start_of(drawn, 1);
    CHECK(one != torch_test::start_of(drawn, 2));
    CHECK(one == torch_test::start_of(drawn, 1));
    CHECK(one != torch_test::start_of(as_is));
}

TEST_CASE("what a module draws follows from the stream of the round") {
    torch::nn::Sequential net(torch::nn::Dropout(0.5), torch::nn::Linear(36, 4));
    torch_model model{net, {.input = {36}}};
    const auto batch = torch_test::batch_of(torch_test::quarters(8, 1), 8);
    const floats parameters = torch_test::start_of(model);
    const auto said = [&](std::uint64_t seed) {
        model.reseed(random_stream{seed});
        const auto logits = model.forward(parameters, batch);
        return floats(logits.begin(), logits.end());
    };
    const floats first = said(1);
    CHECK(first != said(2));
    CHECK(first == said(1));
}

namespace {

/// The largest piece of memory that torch takes while it is there.
struct largest_taken : c10::MemoryReportingInfoBase {
    std::int64_t bytes = 0;
    bool memoryProfilingEnabled() const override { return true; }
    void reportMemoryUsage(void*, std::int64_t size, std::int64_t, std::int64_t,
                           c10::Device) override {
        bytes = std::max(bytes, size);
    }
};

struct words_impl : torch::nn::Module {
    torch::nn::Embedding words{torch::nn::EmbeddingOptions(50'000, 8).sparse(true)};
    torch::nn::Linear head{8, 4};
    words_impl() {
        register_module("words", words);
        register_module("head", head);
    }
};

}  // namespace

TEST_CASE("a step takes no memory of the parameters' size") {
    torch_model model{std::make_shared<words_impl>(),
                      {.outputs = 4},
                      cross_entropy{},
                      [](words_impl& net, const data::labelled_batch& batch) {
                          const auto words =
                              torch::from_blob(const_cast<std::int32_t*>(batch.labels().data()),
                                               {batch.size()}, torch::kInt32);
                          return net.head(net.words(words));
                      }};
    const auto batch = torch_test::batch_of(torch_test::quarters(8, 1), 8);
    const floats parameters = torch_test::start_of(model);
    floats gradient(parameters.size());
    const auto taken = std::make_shared<largest_taken>();
    const c10::DebugInfoGuard watch(c10::DebugInfoKind::PROFILER_STATE, taken);
    model.gradient(parameters, batch, gradient, nothing{});
    model.predict(parameters, batch);
    CHECK(taken->bytes > 0);
    CHECK(taken->bytes < 4096);
    CHECK(gradient.size() > 400'000);
}
