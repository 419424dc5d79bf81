// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "model/named_tensors.h"

namespace myxtts {

// How a codebook follows what is looked up in it.
struct CodebookRule {
  double decay = 0.99;      // of the averages, each step
  double least_use = 0.05;  // of the mean use; a code that is used less begins anew. 0: none does
  double use_decay = 0.99;  // of the counts that perplexity is told of
};

// The DVAE's codebook while it is trained. It has no gradient: each entry is the average of the
// encoder's outputs that were nearest to it, over the last hundred steps or so.
//
//   for each batch:  meet(z, weights)    what its z are rounded to, and what they add to averages
//   once a step:     update(skipped)
//
// Note [A codebook stays alive]
// A code that nothing is nearest to never moves, so most of a codebook that begins at random
// numbers is dead from the first step on. A new codebook (whose cluster sizes are all 0) therefore
// begins with outputs of the encoder for the first batch, drawn at random, each as if used once.
// And a code whose average use has fallen below least_use of the mean begins anew at such an output
// of the step: from the mean use that takes three hundred steps of no use. Sizes and averages of
// the public layout hold all that this needs, but the counts of use.
//
// Everything stays on the device, and no shape depends on data, so both may stand in a graph. Draws
// come from LibTorch's generator of the device: seed it before each batch.
class LearnedCodebook {
 public:
  // Shares the tensors of the public layout: codebook.embed, .embed_avg, .cluster_size.
  LearnedCodebook(const NamedTensors& tensors, const CodebookRule& rule);

  // The entries [W, dim, n] nearest to z [W, dim, n]. Windows of weight 0 count for nothing; they
  // stand behind the others. Without gradient.
  at::Tensor meet(const at::Tensor& z, const at::Tensor& weights);

  // exp of the entropy of the codes' use, and the share of codes in use at all: fp32 scalars, over
  // the last hundred steps and the batches of this one.
  at::Tensor perplexity() const;
  at::Tensor share_in_use() const;

  // Averages and entries after the batches of a step; nothing where `skipped`, int32 scalar, is not
  // 0.
  void update(const at::Tensor& skipped);

  // Forgets batches that no update follows.
  void clear();

  // What a checkpoint keeps besides the public layout, sharing memory.
  NamedTensors tensors() const;

 private:
  at::Tensor is_new() const;
  void draw(const at::Tensor& rows, const at::Tensor& weights);
  at::Tensor window() const;

  const CodebookRule rule_;
  at::Tensor embed_;         // [dim, codes]
  at::Tensor embed_avg_;     // [dim, codes]
  at::Tensor cluster_size_;  // [codes]
  at::Tensor use_;           // [codes] counts, older ones for less
  at::Tensor numbers_;       // [codes] int64: 0, 1, 2 ...

  // Of the step at work.
  at::Tensor counts_;  // [codes]
  at::Tensor sums_;    // [dim, codes]
  at::Tensor drawn_;   // [dim, codes] outputs of the encoder that codes may begin with
};

// Of counts [codes]: 1 to the number of codes.
at::Tensor perplexity_of(const at::Tensor& counts);

}  // namespace myxtts
