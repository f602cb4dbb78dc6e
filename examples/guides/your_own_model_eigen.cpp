// The same model with Eigen matrices, which map the parameters in place.

#include <sotto/sotto.hpp>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <type_traits>
#include <vector>

// A batch has one column for each example.
struct surface {
    struct batch_type {
        Eigen::MatrixXf x;
        Eigen::RowVectorXf y;
    };
    Eigen::MatrixXf x;
    Eigen::RowVectorXf y;

    explicit surface(Eigen::Index count, sotto::random_stream random) : x(2, count), y(count) {
        for (Eigen::Index i = 0; i < count; ++i) {
            x(0, i) = 2.0f * random.uniform() - 1.0f;
            x(1, i) = 2.0f * random.uniform() - 1.0f;
            y(i) = std::sin(3.0f * x(0, i)) * x(1, i);
        }
    }
    std::int64_t size() const { return y.size(); }
    void gather(std::span<const std::int64_t> indices, batch_type& batch) const {
        batch.x = x(Eigen::all, std::vector<std::int64_t>(indices.begin(), indices.end()));
        batch.y = y(std::vector<std::int64_t>(indices.begin(), indices.end()));
    }
};

class two_layers {
public:
    using batch_type = surface::batch_type;

    two_layers() {
        using enum sotto::tensor_kind;
        tensors_.add("W", {2, units}).add("b", {units}, bias).add("v", {units}).add("c", {1}, bias);
    }
    const sotto::layout& layout() const { return tensors_; }
    void initialise(std::span<float> parameters, sotto::random_stream random) const {
        for (float& w : parameters) w = 0.7f * random.normal();
        parameters[4 * units] = 0.0f;
    }

    double gradient(std::span<const float> parameters, const batch_type& batch,
                    std::span<float> out, auto&& on_ready) {
        const in<const float> p(parameters);
        in<float> d(out);
        const Eigen::RowVectorXf off = respond(p, batch) - batch.y;
        const Eigen::RowVectorXf slope = off / float(batch.y.size());
        d.c(0) = slope.sum();
        on_ready(tensors_[3]);  // last to first: sending overlaps with computing
        d.v.noalias() = h_ * slope.transpose();
        on_ready(tensors_[2]);
        inner_ = ((p.v * slope).array() * (1.0f - h_.array().square())).matrix();
        d.b = inner_.rowwise().sum();
        d.w.noalias() = inner_ * batch.x.transpose();
        return 0.5 * double{off.squaredNorm()} / double(batch.y.size());
    }

    double loss(std::span<const float> parameters, const batch_type& batch) {
        const Eigen::RowVectorXf off = respond(in<const float>(parameters), batch) - batch.y;
        return 0.5 * double{off.squaredNorm()} / double(batch.y.size());
    }

private:
    static constexpr Eigen::Index units = 32;

    // Maps the tensors of a span, in the layout's order. Eigen's matrices are column-major: W is
    // stored as 2 columns of 32.
    template <class Float>
    struct in {
        template <class Matrix>
        using view = Eigen::Map<std::conditional_t<std::is_const_v<Float>, const Matrix, Matrix>>;
        explicit in(std::span<Float> p)
            : w(p.data(), units, 2),
              b(&p[2 * units], units),
              v(&p[3 * units], units),
              c(&p[4 * units], 1) {}
        view<Eigen::MatrixXf> w;
        view<Eigen::VectorXf> b, v, c;
    };

    Eigen::RowVectorXf respond(const in<const float>& p, const batch_type& batch) {
        h_ = ((p.w * batch.x).colwise() + p.b).array().tanh();
        return ((p.v.transpose() * h_).array() + p.c(0)).matrix();
    }

    sotto::layout tensors_;
    Eigen::MatrixXf h_, inner_;
};

int main() try {
    const surface seen(4'000, sotto::random_stream{1}), unseen(1'000, sotto::random_stream{2});
    bool good = true;
    sotto::run_in_process(4, [&](sotto::in_process& transport) {
        two_layers model;
        sotto::trainer trainer{
            model, sotto::all_reduce{sotto::sgd{.learning_rate = 0.1}, sotto::dgc{.density = 0.05}},
            transport};
        const auto report = trainer.fit(seen, sotto::epochs{60}, sotto::evaluate_on{unseen});
        if (transport.rank() != 0) return;
        std::printf("loss on unseen data %.5f; that of 0 everywhere is 0.087\n",
                    report.evaluated->loss);
        good = report.evaluated->loss < 0.02;
    });
    return good ? 0 : 1;
} catch (...) {
    return sotto::report_exception();  // prints the error, returns an exit_code
}
