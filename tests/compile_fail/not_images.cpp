// expect-error: augmented: the data must be a dataset of labelled_batch with shape\(\)
#include "sotto/data/augmented.hpp"
#include "sotto/data/text_set.hpp"

void misuse(const sotto::data::text_set& text) {
    sotto::data::augmented mirrored{text};
}
