// A model that was trained elsewhere answers: nothing is trained here.

#include <sotto/checkpoint/saved_model.hpp>
#include <sotto/models/mlp.hpp>

#include <cstdio>
#include <vector>

int main(int count, char** arguments) {
    if (count != 2) return 2;
    sotto::models::mlp model{784, 128, 10};
    const auto learnt = sotto::load_model(arguments[1], model.layout());
    sotto::data::labelled_batch batch;
    batch.resize(1, 784);
    const auto logits = model.predict(learnt.parameters, batch);
    for (const float logit : logits) std::printf("%g\n", static_cast<double>(logit));
}
