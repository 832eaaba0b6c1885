//! Adam for a whole module.

use burn::lr_scheduler::module_lr_scheduler::ModuleLearningRate;
use burn::module::Module;
use burn::optim::{GradientsParams, ModuleOptimizer, OptimizerRecord};

use crate::Adam;

/// [`Adam`] for the parameters of a module.
///
/// It computes what a [`ModuleOptimizer`] with this Adam does, and its record is that of the `ModuleOptimizer`. On a
/// graphics card it steps all parameters together: one launch for as many gradients as the card takes, and one before for
/// the norms of those with more than 1,024 elements, where a `ModuleOptimizer` has one or two for each. The parameters of
/// the module then lie in one buffer, which stays in memory as long as one of them does.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::optim::GradientsParams;
/// use burn::tensor::{Device, Tensor};
/// use pe_encoder::{Adam, Kernels, ModuleAdam};
///
/// let device = Device::flex().autodiff();
/// let mut model = LinearConfig::new(4, 2).init(&device);
/// let mut optimizer = ModuleAdam::new(Adam {
///     beta_1: 0.9,
///     beta_2: 0.98,
///     epsilon: 1e-8,
///     clip_norm: Some(1.0),
///     weight_decay: 0.0,
///     kernels: Kernels::Auto,
/// });
/// let loss = model.forward(Tensor::<2>::ones([3, 4], &device)).mean();
/// let gradients = GradientsParams::from_grads(loss.backward(), &model);
/// model = optimizer.step(1e-3, model, gradients);
/// # let _ = model;
/// ```
pub struct ModuleAdam {
    optimizer: ModuleOptimizer,
    #[cfg(feature = "cube")]
    on_cards: cards::Steps,
}

impl ModuleAdam {
    /// No parameter has been stepped yet.
    ///
    /// # Panics
    ///
    /// When a number of `adam` is out of bounds.
    pub fn new(adam: Adam) -> Self {
        adam.check_numbers();
        #[cfg(feature = "cube")]
        let on_cards = cards::Steps::new(adam);
        Self {
            #[cfg(feature = "cube")]
            optimizer: ModuleOptimizer::from(on_cards.clone()),
            #[cfg(not(feature = "cube"))]
            optimizer: ModuleOptimizer::from(adam),
            #[cfg(feature = "cube")]
            on_cards,
        }
    }

    /// The module after a step.
    ///
    /// # Panics
    ///
    /// As [`Adam`] does.
    pub fn step<M: Module>(
        &mut self,
        rate: impl Into<ModuleLearningRate>,
        module: M,
        gradients: GradientsParams,
    ) -> M {
        let rate = rate.into();
        #[cfg(feature = "cube")]
        if self.on_cards.take(&module) {
            let again = cards::clones(&gradients, &module);
            let module = self.optimizer.step(rate.clone(), module, gradients);
            self.on_cards.run();
            let module = self.optimizer.step(rate, module, again);
            self.on_cards.end();
            return module;
        }
        self.optimizer.step(rate, module, gradients)
    }

    /// The moments of all parameters, and how many steps they have had.
    pub fn to_record(&self) -> OptimizerRecord {
        self.optimizer.to_record()
    }

    /// Goes on from a record.
    pub fn load_record(mut self, record: OptimizerRecord) -> Self {
        self.optimizer = self.optimizer.load_record(record);
        self
    }
}

/// Burn gives an optimizer one parameter at a time. So the module is gone over twice: first the parameters are gathered,
/// and after all have been stepped they are handed back.
#[cfg(feature = "cube")]
mod cards {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

    use burn::module::{Module, ModuleVisitor, Param};
    use burn::optim::{AdamState, GradientsParams, Optimizer};
    use burn::tensor::{Device, Tensor};

    use crate::kernels::cube::{Stepped, Waiting, step_all, takes};
    use crate::kernels::rates::Rates;
    use crate::{Adam, Kernels};

    /// Adam, of one parameter at a time or of those that it gathers.
    #[derive(Clone)]
    pub struct Steps {
        adam: Adam,
        queue: Arc<Mutex<Queue>>,
    }

    /// What a call for a parameter does.
    enum Queue {
        /// Steps it.
        Step,
        /// Takes it, and leaves its gradient in its place until the module is gone over again.
        Gather(Vec<((Rates, Device), Waiting)>),
        /// Gives it back.
        Give(VecDeque<Stepped>),
    }

    impl Steps {
        pub fn new(adam: Adam) -> Self {
            let queue = Arc::new(Mutex::new(Queue::Step));
            Self { adam, queue }
        }

        fn queue(&self) -> MutexGuard<'_, Queue> {
            self.queue.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// Starts to gather and returns true if parameters of the module are on a card. The state is set in either case,
        /// since an earlier step may have panicked.
        pub fn take<M: Module>(&self, module: &M) -> bool {
            let on_card = module.devices().iter().any(pe_burn::is_card);
            let takes = on_card && self.adam.kernels == Kernels::Auto;
            *self.queue() = match takes {
                true => Queue::Gather(Vec::new()),
                false => Queue::Step,
            };
            takes
        }

        /// Steps all that was gathered, those of the same rates and device together.
        pub fn run(&self) {
            let mut queue = self.queue();
            let Queue::Gather(waiting) = &mut *queue else {
                unreachable!("`take` began to gather");
            };
            let mut stepped = VecDeque::new();
            let mut waiting = std::mem::take(waiting).into_iter().peekable();
            while let Some((kind, first)) = waiting.next() {
                let mut alike = vec![first];
                while let Some((_, next)) = waiting.next_if(|(next, _)| *next == kind) {
                    alike.push(next);
                }
                stepped.extend(step_all(alike, kind.0));
            }
            *queue = Queue::Give(stepped);
        }

        pub fn end(&self) {
            *self.queue() = Queue::Step;
        }
    }

    impl Optimizer for Steps {
        type State<const D: usize> = AdamState<D>;

        fn step<const D: usize>(
            &self,
            rate: f64,
            parameter: Tensor<D>,
            gradient: Tensor<D>,
            state: Option<AdamState<D>>,
        ) -> (Tensor<D>, Option<AdamState<D>>) {
            // When the module is gone over again, a gradient is in the place of the parameter, with the same type and
            // device.
            let takes = takes(&parameter);
            match &mut *self.queue() {
                Queue::Gather(waiting) if takes => {
                    self.adam.check(&parameter, &gradient, state.as_ref());
                    let kind = (self.adam.rates(rate, state.as_ref()), parameter.device());
                    let decay = self.adam.decay::<D>(rate).map(|decay| decay as f32);
                    let place = gradient.clone();
                    let of = Waiting::new(parameter, gradient, state, decay);
                    waiting.push((kind, of));
                    (place, None)
                }
                Queue::Give(stepped) if takes => {
                    let stepped = stepped.pop_front().expect("as many as were gathered");
                    let (parameter, state) = stepped.into_parts();
                    (parameter, Some(state))
                }
                // Another type, which is stepped in the second round.
                Queue::Gather(_) => (parameter, state),
                Queue::Give(_) | Queue::Step => self.adam.step(rate, parameter, gradient, state),
            }
        }

        fn to_device<const D: usize>(state: AdamState<D>, device: &Device) -> AdamState<D> {
            Adam::to_device(state, device)
        }
    }

    /// The gradients of a module a second time.
    pub fn clones<M: Module>(gradients: &GradientsParams, module: &M) -> GradientsParams {
        struct Clones<'a>(&'a GradientsParams, GradientsParams);
        impl ModuleVisitor for Clones<'_> {
            fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
                if let Some(gradient) = self.0.get::<D>(parameter.id) {
                    self.1.register(parameter.id, gradient);
                }
            }
        }
        let mut clones = Clones(gradients, GradientsParams::new());
        module.visit(&mut clones);
        clones.1
    }
}
