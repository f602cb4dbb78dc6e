#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/data/dataset.hpp"
#include "sotto/data/labelled_batch.hpp"
#include "sotto/data/labelled_set.hpp"

/// Data sets read from files or generated, and the samplers that assign their examples to ranks.
namespace sotto::data {}  // namespace sotto::data

namespace sotto::detail::data {

/// A data set of images.
///   shape()   shape of every example: a batch stores shape().size() floats for each
template <class D>
concept image_set = dataset<D> &&
    std::same_as<typename D::batch_type, sotto::data::labelled_batch> && requires(const D& data) {
    { data.shape() } -> std::same_as<sotto::data::labelled_set::example_shape>;
};

}  // namespace sotto::detail::data

namespace sotto::data {

/// A set of images that training reads randomly shifted and mirrored. An evaluation reads them
/// unchanged.
///   math    y[c, r, k] = x[c, r + down, k + right], or `fill` outside of x; then, with probability
///           1/2, rows are reversed.  down, right uniform in -padding..padding: the image is padded
///           on all sides, then cropped to its size
///   shape   any shape of the inner set; batches are as the inner set makes them
///   state   none: the variation of example i depends on the given stream, split by i. The trainer
///           passes a stream of the epoch, so a run can be repeated or resumed
///   cost    changes the batch in place, in at most two passes after the inner set's; no allocation
///   errors  invalid_option: a padding that is negative or not smaller than height and width, a
///           fill that is not finite
///   source  He, Zhang, Ren, Sun 2016, Deep Residual Learning for Image Recognition (section 4.2),
///           arXiv:1512.03385. Their fill is 0, with pixels of mean 0
template <class Set>
class augmented {
    static_assert(detail::data::image_set<Set>,
                  "augmented: the data must be a dataset of labelled_batch with shape(), such as "
                  "labelled_set");

public:
    using batch_type = labelled_batch;

    /// Options of the random changes.
    struct options {
        std::int64_t padding = 4;  // pixels of padding on each side
        bool flip = true;          // true: mirror images left to right with probability 1/2
        float fill = 0.0f;  // value of the padding, on the scale on which a model reads pixels
    };

    /// Wraps a set of images.
    explicit augmented(Set set, options how = {}) : set_(std::move(set)), how_(how) {
        const data::labelled_set::example_shape shape = set_.shape();
        const std::int64_t side = (std::min)(shape.height, shape.width);
        require_option("augmented", "padding", how.padding,
                       detail::allowed::at_least(0).below(side), ", the smaller side of an image");
        require_option("augmented", "fill", double{how.fill}, detail::allowed::any_finite());
    }

    std::int64_t size() const { return set_.size(); }
    /// Shape of one image.
    data::labelled_set::example_shape shape() const { return set_.shape(); }
    /// Number of classes of the set.
    std::int64_t classes() const { return set_.classes(); }

    void gather(std::span<const std::int64_t> indices, labelled_batch& batch) const {
        set_.gather(indices, batch);
    }

    void gather(std::span<const std::int64_t> indices, labelled_batch& batch,
                const random_stream& draws) const {
        gather_to_train(set_, indices, batch, draws.split("inner"));
        const auto width = static_cast<std::size_t>(batch.width());
        for (std::size_t i = 0; i < indices.size(); ++i)
            vary(batch.inputs().subspan(i * width, width),
                 draws.split(static_cast<std::uint64_t>(indices[i])));
    }

private:
    void vary(std::span<float> image, random_stream draws) const {
        const auto up_to_padding = [&] {
            const auto places = static_cast<std::uint64_t>(2 * how_.padding + 1);
            return static_cast<std::int64_t>(draws.below(places)) - how_.padding;
        };
        const std::int64_t down = up_to_padding(), right = up_to_padding();
        const bool mirror = how_.flip && draws.below(2) == 1;
        const auto plane = static_cast<std::size_t>(shape().height * shape().width);
        for (; !image.empty(); image = image.subspan(plane)) {
            move(image.first(plane), down, right);
            if (mirror) reverse_rows(image.first(plane));
        }
    }

    /// Moves a plane with one memmove, then overwrites pixels from outside the image or from an
    /// adjacent row.
    void move(std::span<float> plane, std::int64_t down, std::int64_t right) const {
        const std::int64_t width = shape().width, height = shape().height;
        const std::int64_t distance = down * width + right;
        const auto kept = plane.size() - static_cast<std::size_t>((std::max)(distance, -distance));
        float* const to = plane.data() + std::max<std::int64_t>(-distance, 0);
        const float* const from = plane.data() + std::max<std::int64_t>(distance, 0);
        std::memmove(to, from, kept * sizeof(float));

        const auto fill = [&](std::int64_t first, std::int64_t count) {
            std::fill_n(plane.data() + first, count, how_.fill);
        };
        fill(down > 0 ? (height - down) * width : 0, (std::max)(down, -down) * width);
        const std::int64_t column = right > 0 ? width - right : 0,
                           columns = (std::max)(right, -right);
        for (std::int64_t row = 0; row < height; ++row) fill(row * width + column, columns);
    }

    void reverse_rows(std::span<float> plane) const {
        const auto width = static_cast<std::size_t>(shape().width);
        for (; !plane.empty(); plane = plane.subspan(width))
            std::reverse(plane.begin(), plane.begin() + static_cast<std::ptrdiff_t>(width));
    }

    Set set_;
    options how_;
};

}  // namespace sotto::data
