// expect-error: initialized_from: the model must be a gradient_source that can be copied or moved
// What it begins with is kept inside a copy of the model.
#include "sotto/checkpoint/saved_model.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/trainer/initialized_from.hpp"

struct stays : sotto::models::mlp<> {
    stays() : mlp({4, 2}) {}
    stays(const stays&) = delete;
};

void misuse(const stays& model) {
    sotto::initialized_from begun{model, sotto::load_model("model.safetensors")};
}
