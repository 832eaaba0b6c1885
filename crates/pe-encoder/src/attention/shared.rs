//! What the layers of one kind take besides their input: what the scheme does, and which keys a token sees.

use burn::tensor::{Bool, Tensor};
use pe_burn::{ForgetGate, HiddenBias, Positional, Positions, Rotate, ScoreBias, Tokens};

use crate::kernels::part::Added;
use crate::kernels::{self, Kernels};
use crate::plain::{join_heads, key_mask, later_keys, outside, together};

/// The settings that layers of one kind have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub heads: usize,
    /// The width of a head's values.
    pub d_head: usize,
    pub causal: bool,
    pub window: Option<usize>,
    /// Whether training drops weights.
    pub dropout: bool,
    pub kernels: Kernels,
}

/// What every layer of one kind takes besides its input. It is computed once for all of them.
pub(crate) struct Shared<'a> {
    pub(super) rotate: Option<&'a dyn Rotate>,
    score_bias: Option<&'a dyn ScoreBias>,
    hidden_bias: Option<&'a dyn HiddenBias>,
    pub(super) forget_gate: Option<&'a dyn ForgetGate>,
    /// The positions of the input's tokens.
    pub(super) positions: Positions,
    /// The positions of all tokens that they attend to.
    key_positions: Positions,
    /// `[batch, seq]`, true where there is no token.
    pub(super) padding: Option<&'a Tensor<2, Bool>>,
    /// What the scheme adds by positions alone, `[1 or batch, heads, queries, keys]`; or, for a kernel that takes it so, one
    /// number for each distance, `[1, heads, 1, queries + keys − 1]`.
    bias: Option<Tensor<4>>,
    /// Whether the kernel takes the sums of the forget gates as they are, one for each token, since nothing else is added.
    pub(super) sums_alone: bool,
    /// What the scheme adds to the weights after the softmax, `[1 or batch, heads, queries, keys]`: 0 at keys that the mask
    /// or the window hides, but not yet at padding.
    weight_bias: Option<Tensor<4>>,
    /// `[batch, heads, queries, keys]`
    scores: [usize; 4],
    /// The width of a head's values.
    pub(super) d_head: usize,
    /// The width of a head's queries and keys, as they go into the product.
    pub(super) width: usize,
}

impl<'a> Shared<'a> {
    /// For `x`, `[batch, seq, d_model]`, whose tokens attend to each other.
    ///
    /// A bias by distance is not spread over all pairs of tokens where the kernel reads it as it is, and nothing else is added
    /// to the scores.
    pub fn new(
        x: &Tensor<3>,
        padding: Option<&'a Tensor<2, Bool>>,
        scheme: &'a dyn Positional,
        positions: &Positions,
        form: Form,
    ) -> Self {
        let [batch, seq, _] = x.dims();
        if let Some(padding) = padding {
            assert_eq!(padding.dims(), [batch, seq], "padding must be [batch, seq]");
        }
        let by_content = scheme.as_score_bias().is_some() || scheme.as_hidden_bias().is_some();
        let dropped = form.dropout && x.device().is_autodiff();
        let strips = !by_content && !dropped && form.kernels.take_all_forms(x);
        let by_distance = strips && scheme.as_forget_gate().is_none();
        Self {
            padding,
            sums_alone: strips && scheme.as_bias().is_none(),
            ..Self::of(x, scheme, positions, (positions, seq), by_distance, form)
        }
    }

    /// For `x`, `[batch, seq, d_model]`, whose tokens follow `cached` others in their row and attend to them too.
    pub fn after(cached: usize, x: &Tensor<3>, scheme: &'a dyn Positional, form: Form) -> Self {
        let keys = (&Positions::default(), cached + x.dims()[1]);
        Self::of(x, scheme, &Positions::from(cached), keys, false, form)
    }

    fn of(
        x: &Tensor<3>,
        scheme: &'a dyn Positional,
        positions: &Positions,
        keys: Tokens,
        by_distance: bool,
        form: Form,
    ) -> Self {
        let [batch, seq, _] = x.dims();
        let (scores, d_head) = ([batch, form.heads, seq, keys.1], form.d_head);
        let rotate = scheme.as_rotate();
        let bias = scheme.as_bias().map(|scheme| {
            let queries = (positions, seq);
            let of_distances = match by_distance {
                true => scheme.distance_bias(queries, keys),
                false => None,
            };
            let (bias, shape) = match of_distances {
                Some(bias) => (bias, [1, form.heads, 1, seq + keys.1 - 1]),
                None => (scheme.bias(queries, keys), scores),
            };
            kernels::check_bias(&bias, shape, &x.device());
            bias
        });
        let weight_bias = scheme.as_weight_bias().map(|scheme| {
            let bias = scheme.weight_bias((positions, seq), keys);
            kernels::check_bias(&bias, scores, &x.device());
            form.of_seen_keys(bias)
        });
        Self {
            rotate,
            weight_bias,
            score_bias: scheme.as_score_bias(),
            hidden_bias: scheme.as_hidden_bias(),
            forget_gate: scheme.as_forget_gate(),
            positions: positions.clone(),
            key_positions: keys.0.clone(),
            padding: None,
            bias,
            sums_alone: false,
            scores,
            d_head,
            width: rotate.map_or(d_head, |scheme| scheme.width(d_head)),
        }
    }

    /// Whether the scheme makes queries and keys of another width, which most kernels do not take.
    pub(super) fn changes_width(&self) -> bool {
        self.width != self.d_head
    }

    /// Whether the scheme reads the hidden states that a layer projects.
    pub(super) fn reads_states(&self) -> bool {
        self.hidden_bias.is_some() || self.forget_gate.is_some()
    }

    /// What a layer adds to its scores: from positions, from its queries and keys, `[batch, heads, tokens, width]`, and
    /// from hidden states and its forget gate.
    pub(super) fn bias(
        &self,
        queries_and_keys: impl FnOnce() -> [Tensor<4>; 2],
        by_states: Option<Tensor<4>>,
    ) -> Option<Tensor<4>> {
        self.scaled_bias(queries_and_keys, by_states, false).bias
    }

    /// As [`bias`](Self::bias), but for attention that can multiply its scores by a factor, if `scales`.
    pub(super) fn scaled_bias(
        &self,
        queries_and_keys: impl FnOnce() -> [Tensor<4>; 2],
        by_states: Option<Tensor<4>>,
        scales: bool,
    ) -> Added {
        let by_content = self.score_bias.map(|scheme| {
            let [q, k] = queries_and_keys();
            let (q, k) = ((&q, &self.positions), (&k, &self.key_positions));
            let (factor, bias) = match scales {
                true => scheme.scaled_score_bias(q, k),
                false => (1.0, scheme.score_bias(q, k)),
            };
            kernels::check_bias(&bias, self.scores, &q.0.device());
            (factor, bias)
        });
        let (factor, by_content) = by_content.unzip();
        Added {
            factor: factor.unwrap_or(1.0),
            bias: together(together(by_content, self.bias.clone()), by_states),
        }
    }

    /// What a layer adds to its scores, computed from the hidden states that it projects, `[batch, seq, d_model]`.
    pub(super) fn by_hidden_states(
        &self,
        layer: usize,
        states: Option<Tensor<3>>,
    ) -> Option<Tensor<4>> {
        let (scheme, x) = (self.hidden_bias?, &states?);
        let keys = (&self.key_positions, self.scores[3]);
        let bias = scheme.hidden_bias(layer, (x, &self.positions), keys);
        kernels::check_bias(&bias, self.scores, &x.device());
        Some(bias)
    }

    /// What the scheme adds to the weights, multiplied with the values, `[batch, heads, keys, d_head]`. The product,
    /// `[batch, queries, d_model]`, is to be added to the result of the attention.
    pub(super) fn after_softmax(&self, values: impl FnOnce() -> Tensor<4>) -> Option<Tensor<3>> {
        let bias = self.weight_bias.clone()?;
        let v = values();
        let v = match self.padding {
            // Nothing attends to padding. Its values are set to 0, since a bias with 0 there for each row would be
            // larger.
            Some(padding) => v.mask_fill(key_mask(padding).swap_dims(2, 3), 0.0),
            None => v,
        };
        Some(join_heads(bias.cast(v.dtype()).matmul(v)))
    }
}

impl Form {
    /// What is added to weights, `[1 or batch, heads, queries, keys]`, with 0 at keys that a query does not attend to: those
    /// after it, if the attention is causal, and those outside of its window.
    fn of_seen_keys(&self, mut bias: Tensor<4>) -> Tensor<4> {
        let [_, _, queries, keys] = bias.dims();
        let device = bias.device();
        if self.causal {
            bias = bias.mask_fill(later_keys(queries, keys, &device), 0.0);
        }
        match outside(self.window, queries, keys, &device) {
            Some(outside) => bias.mask_fill(outside, 0.0),
            None => bias,
        }
    }
}
