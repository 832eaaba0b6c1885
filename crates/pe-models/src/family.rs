//! What a row of the table of model types says.

use pe_burn::axes::{Axis, AxisFrequencies, PairOrder};
use pe_burn::{Axes, Layout};

/// What the code of a model type takes where its file says nothing.
pub(super) struct Family {
    /// The `model_type` in the file.
    pub name: &'static str,
    pub layout: Layout,
    /// Whether `rope_interleave: false` in the file makes the layout halves.
    pub interleave_flag: bool,
    pub sizes: Sizes,
    pub base: f64,
    /// The base before version 5 of transformers, where that was another.
    pub older_base: Option<f64>,
    pub share: Share,
    /// Whether the base and the share are `rotary_emb_base` and `rotary_pct` in the file.
    pub is_neox: bool,
    pub width: Width,
    /// The length that the model was trained on where longer ones are scaled; `None` for
    /// `max_position_embeddings`.
    pub original: Option<usize>,
    pub kinds: Kinds,
    pub rotates: Rotates,
    pub rope: Rope,
    pub scalings: Scalings,
    pub window: Option<usize>,
    pub windows: Windows,
    /// Whether every layer with attention has a window where there is one.
    pub everywhere: bool,
    /// Whether a window has its number of keys on each side of a query: encoders.
    pub both_sides: bool,
    pub scale: Scale,
    /// The axes of text, images and video.
    pub sections: Option<(Sections, [usize; 3])>,
    /// The coordinates of patches of images and video, for a tower.
    pub patches: Option<Patches>,
    /// Where the position of a token comes from.
    pub places: Places,
    /// Whether pairs turn the other way, by minus the angle.
    pub opposite: bool,
    /// The name of the base in the file, where that is another; where there are parameters, a field of this name replaces
    /// the base in them.
    pub base_field: Option<&'static str>,
    /// Whether the name of a scaling in a group for a kind of layer is `rope_type` alone, and the older `type` is passed over.
    pub newer_names: bool,
    /// Fields that the code of the type reads and that are not read here: a file that has one is refused.
    pub unread: &'static [&'static str],
}

/// What the code of a model type takes for sizes that its file leaves out.
pub(super) struct Sizes {
    pub layers: usize,
    pub width: usize,
    pub heads: usize,
    /// The longest input; 0 where its code knows none.
    pub longest: usize,
}

/// The kinds of a model's layers where its file does not list them as `layer_types`. Where a variant has a number and a
/// name, a field of that name in the file replaces the number.
#[derive(Clone, Copy)]
pub(super) enum Kinds {
    /// Full attention. A list is not read.
    Alike,
    /// Full attention. A list is read, as with all that follow where they do not say otherwise.
    Full,
    /// Sliding windows.
    Sliding,
    /// Attention beside another kind of memory, in each layer.
    Hybrid,
    /// Full attention in every n-th layer, from the n-th on, and windows in the others.
    LastOf(usize, &'static str),
    /// As `LastOf`, counted anew after the `first_k_dense_replace` first layers, of which every n-th has full attention
    /// by `prefix_dense_sliding_window_pattern`: Cohere 2 with experts.
    LastOfRest(usize),
    /// Full attention in every n-th layer, from the first on, and windows in the others.
    FirstOf(usize, &'static str),
    /// Linear attention but for every n-th layer, from the n-th on.
    LinearBut(usize, &'static str),
    /// Windows from layer `max_window_layers` on, or else this one: Qwen2.
    AfterFull(usize),
    /// Windows in every second layer, from the first on, before layer `max_window_layers`, or else this one: Qwen2
    /// with experts.
    EvenBefore(usize),
    /// Windows where a layer does not rotate, by `no_rope_layers`: SmolLM3.
    WindowsUnlessRotated,
    /// Chunks where a layer rotates, by `no_rope_layers`, and full attention elsewhere: Llama 4.
    Chunked,
    /// Another rule: the kind of layer `i` of `n`.
    Rule(fn(i: usize, n: usize) -> &'static str),
    /// Full attention in every n-th layer, and in the last one whatever a list says.
    FullAtTheEnd(usize, &'static str),
    /// Full attention, but for the layers of the list of this name, which attend to another input. `layer_types` are
    /// not read.
    Except(&'static str, &'static [usize]),
    /// Full attention in the layers of the list of this name, and no attention in the others. `layer_types` are not
    /// read.
    Indices(&'static str),
    /// Full attention in the layers of the list of this name, or in all where there is none, and convolutions in the
    /// others.
    FullIn(&'static str),
    /// Full attention in the layers of the list of this name, and within windows of the image in the others.
    WindowsBut(&'static str, &'static [usize]),
    /// Full attention where the list of this name has another number than 0, and linear attention elsewhere; every second layer, from the
    /// first on, has full attention where there is no list.
    FullWhere(&'static str),
    /// The kinds of `block_types` over and over, or else two layers without attention and one with a window.
    Blocks,
    /// Windows where the list of this name has a number above 0, or else all but every n-th layer.
    ByWindow(usize, &'static str),
    /// The kinds of `layers_block_type`, as many layers as it has, or else those of Zamba 2.
    Zamba,
    /// Full attention in each turn of a layer: two stacks of layers take turns, the first `L_cycles` times and the
    /// second once, all of it `H_cycles` times: HRM.
    Cycles,
    /// Listed in every file.
    Listed,
}

/// Where the number of keys in a window is.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Windows {
    /// In `sliding_window`.
    Plain,
    /// In `sliding_window`, and there is none unless `use_sliding_window` is set.
    Flagged,
    /// In `sliding_window`. Where the file has no fields of single layers, every second layer with a window has this
    /// number: NeoMME.
    InTurn(usize),
    /// In `sliding_window`, which counts the keys on both sides of a query and the one after them: T5Gemma 2.
    Split,
    /// In `sliding_window`, which counts the keys on both sides of a query where `use_bidirectional_attention` is set.
    Halved,
    /// Under this name or `sliding_window`.
    Named(&'static str),
    /// One more than the number of this name, or else in `sliding_window`.
    OneMoreThan(&'static str),
    /// In `sliding_window`, or else half of `local_attention`, which counts the keys on both sides.
    PlainOrLocal,
    /// The first number above 0 in the list of this name, or else in `sliding_window`.
    FirstOf(&'static str),
}

/// Which columns of a head are rotated.
#[derive(Clone, Copy)]
pub(super) enum Share {
    /// All of them, whatever the file says.
    Whole,
    /// All of them, and the code of the model fails where the file has another share.
    WholeOnly,
    /// The share of this name, which stands beside the parameters.
    Field(&'static str),
    /// The share that is named `partial_rotary_factor`.
    Part(f64),
    /// As `Part`, in the group of a kind of layer without a scaling; what stands beside the groups is passed over.
    PartInGroup(f64),
    /// The share that is named `partial_rotary_factor`, or else the part of a head that `rotary_dim` is, or else all of
    /// it.
    PartOrColumns,
    /// As many as `rotary_dim` says, or else all of them.
    WholeOrColumns,
    /// Half of them, and what stands beside the parameters is passed over.
    Half,
    /// The number of columns that is named `rotary_dim`.
    Columns(usize),
}

/// Where the width of a head is.
#[derive(Clone, Copy)]
pub(super) enum Width {
    /// In `head_dim`, or else the given number, or else `hidden_size / num_attention_heads`.
    Head(Option<usize>),
    /// In `head_dim`, or else the given number; `hidden_size / num_attention_heads` where it is `null`.
    HeadOrDivided(usize),
    /// `hidden_size / num_attention_heads`, whatever `head_dim` says.
    Divided,
    /// Multi-head latent attention: only the last `qk_rope_head_dim` columns, after
    /// `qk_nope_head_dim` others, have positions. The numbers are those that a file may leave out.
    Latent { plain: usize, rotated: usize },
    /// The number of this name over that of the heads.
    Of(&'static str),
    /// `memory_attention_hidden_size`, shared by `memory_attention_num_attention_heads` after it was divided by
    /// `memory_attention_downsample_rate`: SAM 2.
    Memory,
    /// In `attention_head_dim` or `head_dim`, or else twice `hidden_size / num_attention_heads`.
    Twice,
    /// In `kv_channels`, or else the given number.
    Channels(usize),
    /// In `head_dim`, and in `global_head_dim` for full attention.
    Global { head: usize, full: usize },
}

/// Which layers with attention rotate.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rotates {
    All,
    /// Those with a window.
    Windows,
    /// Those with a window, and the dense ones of Cohere 2 with experts unless its
    /// `prefix_dense_sliding_window_pattern` is above 1.
    WindowsOrDense,
    /// Those with a window, or all where the file has no `sliding_window`.
    WindowsIfAny,
    /// Those that `no_rope_layers` has a 1 for.
    Listed,
    /// Those that `layer_rope_theta` has a base above 0 for, which is then theirs; all where there is no list.
    Bases,
    /// Those that `layer_rope_theta` has another number than 0 for; all but every n-th layer counted from the last
    /// one where there is no list.
    UnlessZero(usize),
    /// All. Those that are not in `rope_scaling_layers`, where there is such a list, have no scaling.
    Scaled,
    /// All, unless the base is `null`.
    WithBase,
    /// All where this field is as given, else none.
    If(&'static str, When),
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum When {
    Is(&'static str, bool),
    Flag(bool, bool),
}

/// Where the parameters of a layer's rotation are.
#[derive(Clone, Copy)]
pub(super) enum Rope {
    /// There are none: the base is that of the table, whatever the file says.
    Fixed,
    /// The base alone, beside all else: there is no scaling.
    Base,
    /// In one group for all layers; a `rope_scaling` is passed over.
    Newer,
    /// In one group for all layers. The text is the group where the file has none.
    One(&'static str),
    /// In a group for each kind of layer, which the file has or the text stands for. An older
    /// `rope_scaling` is not read.
    PerKind(&'static str),
    /// In a group for each kind of layer, or else in lists with a number for each layer, of which the first layer of a
    /// kind counts: `rope_theta`, which may be one number, and `partial_rotary_factors`. A `rope_scaling` is for full
    /// attention.
    Lists,
    /// The same as `PerKind`, with bases beside the groups, by the name that is given for full attention and for
    /// windows. An older `rope_scaling` is for full attention, and for windows too if that is said.
    Older {
        groups: &'static str,
        full: &'static str,
        windows: &'static str,
        scales_windows: bool,
        /// Before version 5 of transformers, where that was otherwise: the base of full attention, and the name and the base
        /// for windows.
        older: Option<(f64, &'static str, f64)>,
    },
}

/// Which scalings the code of a model has.
#[derive(Clone, Copy)]
pub(super) enum Scalings {
    /// Those of transformers.
    Any,
    /// As `Any`, and a fixed factor of the base, `alpha`, under the name "dynamic".
    Alpha,
    /// As `Any`, and "mrope", which scales nothing: it says that images have several coordinates.
    Sections,
    /// This one alone.
    Only(&'static str),
    /// LongRoPE, with a factor of queries and keys in the file: Phi-3.5-MoE.
    Mscale,
    /// None.
    None,
}

/// The factor of the queries.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scale {
    None,
    /// Llama 4: in layers that do not rotate.
    WithoutRotation,
    /// Ministral 3: `llama_4_scaling_beta` of the parameters.
    Parameter,
}

/// Which pairs turn by which coordinate of a token among images, by the three numbers of `mrope_section`.
/// The numbers beside it are those where the file has none.
#[derive(Clone, Copy)]
pub(super) enum Sections {
    /// Time, height and width in a row.
    Row,
    /// Every second and third pair of three is for height and width, as far as their numbers go; the rest is
    /// for time.
    Dealt,
    /// Height and width in turn, and then time. The numbers are in this order too.
    TimeLast,
    /// Row and column in turn, whatever the file says.
    TwoDealt,
    /// In a row, for as many coordinates as are listed: HunYuan-VL. A file without them is read for text alone.
    AnyNumber,
}

/// Which pairs of a head turn by which coordinate of a patch.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Patches {
    /// Half of the pairs by its row, then half by its column.
    HeightWidth,
    /// Half of the pairs by its column, then half by its row.
    WidthHeight,
    /// By its column and its row in turn: Kimi.
    InTurn,
    /// By its row, then by its column, with the frequencies of the whole head in turn: Pixtral.
    FrequenciesInTurn,
    /// A third each by its frame, row and column; the columns that are left of a head do not rotate.
    Thirds,
    /// As `Thirds`, with angles that are repeated as a whole: V-JEPA 2.
    TiledThirds,
    /// Half of the pairs by its row, then half by its column, in whole turns: DINOv3.
    Turns,
    /// As `WidthHeight`; where a layer sees the whole image, in units in which the image is as wide as a window: SAM 3.
    OfWindow,
}

impl Patches {
    pub fn axes(self) -> Axes {
        match self {
            Self::HeightWidth => Axes::HEIGHT_WIDTH,
            Self::WidthHeight | Self::OfWindow => Axes::WIDTH_HEIGHT,
            Self::InTurn => Axes::WIDTH_HEIGHT.with_order(PairOrder::Dealt),
            Self::FrequenciesInTurn => Axes::HEIGHT_WIDTH.with_frequencies(AxisFrequencies::Dealt),
            Self::Thirds | Self::TiledThirds => Axes::FRAMES_HEIGHT_WIDTH,
            Self::Turns => {
                let turn = core::f64::consts::TAU;
                Axes::new([Axis::new(0).with_scale(turn), Axis::new(1).with_scale(turn)])
            }
        }
    }
}

/// Where the position by which a token is rotated comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Places {
    /// The place of the token in its row, from 0 on: text, sound and series.
    Row,
    /// The row and the column of a patch in its image, from this number on, and with three axes its frame before them. Tokens that
    /// are no patches have 0 for all, and do not turn.
    Patch(usize),
    /// The centre of a patch, from −1 to 1 within its image, as `Coordinates::normalized` with
    /// `Normalization::Separate` gives it.
    Centre,
}

/// A row of the table; the sizes are `num_hidden_layers`, `hidden_size`, `num_attention_heads` and
/// `max_position_embeddings`.
pub(super) const fn family(name: &'static str, layout: Layout, sizes: [usize; 4]) -> Family {
    let [layers, width, heads, longest] = sizes;
    Family {
        name,
        layout,
        interleave_flag: false,
        sizes: Sizes {
            layers,
            width,
            heads,
            longest,
        },
        base: 10_000.0,
        older_base: None,
        share: Share::Whole,
        is_neox: false,
        width: Width::Head(None),
        original: None,
        kinds: Kinds::Alike,
        rotates: Rotates::All,
        rope: Rope::One("{}"),
        scalings: Scalings::Any,
        window: None,
        windows: Windows::Plain,
        everywhere: false,
        both_sides: false,
        scale: Scale::None,
        sections: None,
        patches: None,
        places: Places::Row,
        opposite: false,
        base_field: None,
        newer_names: false,
        unread: &[],
    }
}

impl Family {
    /// The base where the file has none, in a version of transformers before 5 or a newer one.
    pub fn base_of(&self, is_older: bool) -> f64 {
        match self.older_base {
            Some(base) if is_older => base,
            _ => self.base,
        }
    }

    /// The name of the base in the file.
    pub fn base_name(&self) -> &'static str {
        match (self.base_field, self.rope) {
            (Some(name), Rope::Base) => name,
            _ if self.is_neox => "rotary_emb_base",
            _ => "rope_theta",
        }
    }

    /// The name of the rotated share in the file.
    pub fn share_name(&self) -> &'static str {
        match self.is_neox {
            true => "rotary_pct",
            false => "partial_rotary_factor",
        }
    }

    /// The longest input where the file has none.
    pub fn longest(&self) -> Option<usize> {
        (self.sizes.longest > 0).then_some(self.sizes.longest)
    }
}

/// The row of a tower of images or video, which has no scaling.
pub(super) const fn tower(
    name: &'static str,
    layout: Layout,
    [layers, width, heads]: [usize; 3],
    patches: Patches,
) -> Family {
    Family {
        patches: Some(patches),
        places: Places::Patch(0),
        scalings: Scalings::None,
        ..family(name, layout, [layers, width, heads, 0])
    }
}

/// Methods that each replace one value of a row.
macro_rules! setters {
    ($($name:ident($($arg:ident: $kind:ty),*) => $field:ident: $value:expr;)*) => {
        impl Family {
            $(pub const fn $name(self, $($arg: $kind),*) -> Self {
                Self { $field: $value, ..self }
            })*
        }
    };
}

setters! {
    neox() => is_neox: true;
    opposite() => opposite: true;
    base_field(name: &'static str) => base_field: Some(name);
    places(places: Places) => places: places;
    interleave_flag() => interleave_flag: true;
    base(base: f64) => base: base;
    older_base(base: f64) => older_base: Some(base);
    share(share: f64) => share: Share::Part(share);
    shares(share: Share) => share: share;
    columns(columns: usize) => share: Share::Columns(columns);
    whole_only() => share: Share::WholeOnly;
    d_head(d_head: usize) => width: Width::Head(Some(d_head));
    width(width: Width) => width: width;
    divided() => width: Width::Divided;
    latent(plain: usize, rotated: usize) => width: Width::Latent { plain, rotated };
    global(head: usize, full: usize) => width: Width::Global { head, full };
    original(original: usize) => original: Some(original);
    kinds(kinds: Kinds) => kinds: kinds;
    window(window: usize) => window: Some(window);
    windows(windows: Windows) => windows: windows;
    everywhere() => everywhere: true;
    both_sides() => both_sides: true;
    rotates(rotates: Rotates) => rotates: rotates;
    rope(rope: Rope) => rope: rope;
    scalings(scalings: Scalings) => scalings: scalings;
    sections(kind: Sections, usual: [usize; 3]) => sections: Some((kind, usual));
    scale(scale: Scale) => scale: scale;
    newer_names() => newer_names: true;
    unread(unread: &'static [&'static str]) => unread: unread;
}
