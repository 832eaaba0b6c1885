//! A Burn module of any type behind one type, so that schemes and models of other crates are used like built-in ones.
//!
//! Burn's `Module` is generic over what visits its parameters, so there is no `dyn Module`. [`Erased`] passes parameters on
//! as `Any`, and the visitor at the other end tries each rank of tensors. Parameters keep the names and the order that they
//! have in the module, and a stored record is the same.

use std::any::Any;
use std::fmt::{self, Debug};
use std::ops::Deref;

use burn::module::{
    Content, Devices, Flag, Module, ModuleDisplay, ModuleDisplayDefault, ModuleMapper,
    ModuleVisitor, Param,
};
use burn::tensor::{Bool, Device, Int, Tensor};

/// A module of any type that has the trait `V`, such as `Erased<dyn Positional>`.
pub struct Erased<V: ?Sized> {
    module: Box<dyn AnyModule>,
    view: View<V>,
}

/// Returns the module as the trait `V`.
type View<V> = fn(&dyn Any) -> &V;

impl<V: ?Sized> Erased<V> {
    /// Hides the type of a module. `view` downcasts the module and returns it as the trait.
    pub fn new<M: Module + 'static>(module: M, view: View<V>) -> Self {
        let module = Box::new(module);
        Self { module, view }
    }

    fn with(&self, module: Box<dyn AnyModule>) -> Self {
        let view = self.view;
        Self { module, view }
    }

    fn map_module(self, change: impl FnOnce(Box<dyn AnyModule>) -> Box<dyn AnyModule>) -> Self {
        let Self { module, view } = self;
        let module = change(module);
        Self { module, view }
    }
}

impl<V: ?Sized> Deref for Erased<V> {
    type Target = V;

    fn deref(&self) -> &V {
        (self.view)(self.module.as_any())
    }
}

impl<V: ?Sized> Clone for Erased<V> {
    fn clone(&self) -> Self {
        self.with(self.module.boxed_clone())
    }
}

impl<V: ?Sized> Debug for Erased<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.module.fmt(f)
    }
}

impl<V: ?Sized> ModuleDisplayDefault for Erased<V> {
    fn content(&self, content: Content) -> Option<Content> {
        Some(content)
    }

    fn num_params(&self) -> usize {
        Module::num_params(self)
    }
}

impl<V: ?Sized> ModuleDisplay for Erased<V> {}

impl<V: ?Sized> Module for Erased<V> {
    fn collect_devices(&self, devices: Devices) -> Devices {
        self.module.devices_of(devices)
    }

    fn fork(self, device: &Device) -> Self {
        self.map_module(|module| module.boxed_fork(device))
    }

    fn to_device(self, device: &Device) -> Self {
        self.map_module(|module| module.boxed_to_device(device))
    }

    fn train(self) -> Self {
        self.map_module(|module| module.boxed_train())
    }

    fn valid(&self) -> Self {
        self.with(self.module.boxed_valid())
    }

    fn materialize(self) -> Self {
        self.map_module(|module| module.boxed_materialize())
    }

    fn visit<Visitor: ModuleVisitor>(&self, visitor: &mut Visitor) {
        self.module.visit_any(&mut Typed(visitor));
    }

    fn map<Mapper: ModuleMapper>(self, mapper: &mut Mapper) -> Self {
        self.map_module(|module| module.map_any(&mut Typed(mapper)))
    }
}

/// `Module`, without generics.
trait AnyModule: Debug + Send {
    fn as_any(&self) -> &dyn Any;
    fn boxed_clone(&self) -> Box<dyn AnyModule>;
    fn devices_of(&self, devices: Devices) -> Devices;
    fn boxed_fork(self: Box<Self>, device: &Device) -> Box<dyn AnyModule>;
    fn boxed_to_device(self: Box<Self>, device: &Device) -> Box<dyn AnyModule>;
    fn boxed_train(self: Box<Self>) -> Box<dyn AnyModule>;
    fn boxed_valid(&self) -> Box<dyn AnyModule>;
    fn boxed_materialize(self: Box<Self>) -> Box<dyn AnyModule>;
    fn visit_any(&self, visitor: &mut dyn AnyVisitor);
    fn map_any(self: Box<Self>, mapper: &mut dyn AnyMapper) -> Box<dyn AnyModule>;
}

impl<M: Module + 'static> AnyModule for M {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn boxed_clone(&self) -> Box<dyn AnyModule> {
        Box::new(self.clone())
    }

    fn devices_of(&self, devices: Devices) -> Devices {
        self.collect_devices(devices)
    }

    fn boxed_fork(self: Box<Self>, device: &Device) -> Box<dyn AnyModule> {
        Box::new(self.fork(device))
    }

    fn boxed_to_device(self: Box<Self>, device: &Device) -> Box<dyn AnyModule> {
        Box::new(self.to_device(device))
    }

    fn boxed_train(self: Box<Self>) -> Box<dyn AnyModule> {
        Box::new(self.train())
    }

    fn boxed_valid(&self) -> Box<dyn AnyModule> {
        Box::new(self.valid())
    }

    fn boxed_materialize(self: Box<Self>) -> Box<dyn AnyModule> {
        Box::new(self.materialize())
    }

    fn visit_any(&self, visitor: &mut dyn AnyVisitor) {
        self.visit(&mut Untyped(visitor));
    }

    fn map_any(self: Box<Self>, mapper: &mut dyn AnyMapper) -> Box<dyn AnyModule> {
        Box::new(self.map(&mut Untyped(mapper)))
    }
}

/// `ModuleVisitor`, without generics.
trait AnyVisitor {
    fn enter(&mut self, name: &str, container: &str);
    fn exit(&mut self, name: &str, container: &str);
    /// `param` is a `Param` of a tensor or of a flag.
    fn visit_param(&mut self, param: &dyn Any);
}

/// `ModuleMapper`, without generics.
trait AnyMapper {
    fn enter(&mut self, name: &str, container: &str);
    fn exit(&mut self, name: &str, container: &str);
    /// `param` is a `Param` of a tensor or of a flag, and what comes back is of the same type.
    fn map_param(&mut self, param: Box<dyn Any>) -> Box<dyn Any>;
}

/// A visitor or mapper that passes each parameter on as `Any`.
struct Untyped<'a, T: ?Sized>(&'a mut T);

impl ModuleVisitor for Untyped<'_, dyn AnyVisitor + '_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.visit_param(param);
    }

    fn visit_int<const D: usize>(&mut self, param: &Param<Tensor<D, Int>>) {
        self.0.visit_param(param);
    }

    fn visit_bool<const D: usize>(&mut self, param: &Param<Tensor<D, Bool>>) {
        self.0.visit_param(param);
    }

    fn visit_flag(&mut self, flag: &Param<Flag>) {
        self.0.visit_param(flag);
    }

    fn enter_module(&mut self, name: &str, container: &str) {
        self.0.enter(name, container);
    }

    fn exit_module(&mut self, name: &str, container: &str) {
        self.0.exit(name, container);
    }
}

impl Untyped<'_, dyn AnyMapper + '_> {
    fn mapped<P: 'static>(&mut self, param: P) -> P {
        let mapped = self.0.map_param(Box::new(param)).downcast();
        *mapped.expect("a parameter keeps its type")
    }
}

impl ModuleMapper for Untyped<'_, dyn AnyMapper + '_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        self.mapped(param)
    }

    fn map_int<const D: usize>(&mut self, param: Param<Tensor<D, Int>>) -> Param<Tensor<D, Int>> {
        self.mapped(param)
    }

    fn map_bool<const D: usize>(
        &mut self,
        param: Param<Tensor<D, Bool>>,
    ) -> Param<Tensor<D, Bool>> {
        self.mapped(param)
    }

    fn map_flag(&mut self, flag: Param<Flag>) -> Param<Flag> {
        self.mapped(flag)
    }

    fn enter_module(&mut self, name: &str, container: &str) {
        self.0.enter(name, container);
    }

    fn exit_module(&mut self, name: &str, container: &str) {
        self.0.exit(name, container);
    }
}

/// A visitor or mapper that finds the type of each parameter again and passes it to a generic one.
struct Typed<'a, T>(&'a mut T);

/// Runs a block with `$D` as each rank that a tensor may have.
macro_rules! each_rank {
    ($D:ident => $block:block) => {
        each_rank!($D => $block; 1 2 3 4 5 6 7 8)
    };
    ($D:ident => $block:block; $($rank:literal)*) => {
        $({
            const $D: usize = $rank;
            $block
        })*
    };
}

/// The panic message for a parameter of any other type.
const UNKNOWN: &str = "a parameter is a flag or a tensor of at most eight dimensions";

impl<V: ModuleVisitor> AnyVisitor for Typed<'_, V> {
    fn enter(&mut self, name: &str, container: &str) {
        self.0.enter_module(name, container);
    }

    fn exit(&mut self, name: &str, container: &str) {
        self.0.exit_module(name, container);
    }

    fn visit_param(&mut self, param: &dyn Any) {
        each_rank!(D => {
            if let Some(param) = param.downcast_ref::<Param<Tensor<D>>>() {
                return self.0.visit_float(param);
            }
            if let Some(param) = param.downcast_ref::<Param<Tensor<D, Int>>>() {
                return self.0.visit_int(param);
            }
            if let Some(param) = param.downcast_ref::<Param<Tensor<D, Bool>>>() {
                return self.0.visit_bool(param);
            }
        });
        self.0.visit_flag(param.downcast_ref().expect(UNKNOWN));
    }
}

impl<M: ModuleMapper> AnyMapper for Typed<'_, M> {
    fn enter(&mut self, name: &str, container: &str) {
        self.0.enter_module(name, container);
    }

    fn exit(&mut self, name: &str, container: &str) {
        self.0.exit_module(name, container);
    }

    fn map_param(&mut self, param: Box<dyn Any>) -> Box<dyn Any> {
        let mut param = param;
        each_rank!(D => {
            param = match param.downcast::<Param<Tensor<D>>>() {
                Ok(param) => return Box::new(self.0.map_float(*param)),
                Err(other) => other,
            };
            param = match param.downcast::<Param<Tensor<D, Int>>>() {
                Ok(param) => return Box::new(self.0.map_int(*param)),
                Err(other) => other,
            };
            param = match param.downcast::<Param<Tensor<D, Bool>>>() {
                Ok(param) => return Box::new(self.0.map_bool(*param)),
                Err(other) => other,
            };
        });
        Box::new(self.0.map_flag(*param.downcast().expect(UNKNOWN)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::module::ParamId;
    use burn::nn::{BatchNorm, BatchNormConfig, Dropout, DropoutConfig, Linear, LinearConfig};
    use burn::store::ModuleRecord;
    use burn::tensor::Distribution;

    /// Parameters of several ranks and kinds, some of them lazy.
    #[derive(Module, Debug)]
    struct Mixed {
        linear: Linear,
        norm: BatchNorm,
        dropout: Dropout,
        ids: Param<Tensor<3, Int>>,
        mask: Param<Tensor<2, Bool>>,
    }

    trait Width {
        fn width(&self) -> usize;
    }

    impl Width for Mixed {
        fn width(&self) -> usize {
            self.linear.weight.dims()[1]
        }
    }

    fn mixed(device: &Device) -> Mixed {
        Mixed {
            linear: LinearConfig::new(3, 5).init(device),
            norm: BatchNormConfig::new(5).init(device),
            dropout: DropoutConfig::new(0.5).init(),
            ids: Param::initialized(ParamId::new(), Tensor::from_data([[[1, 2, 3]]], device)),
            mask: Param::initialized(ParamId::new(), Tensor::from_data([[true, false]], device)),
        }
    }

    fn erased(module: Mixed) -> Erased<dyn Width> {
        Erased::new(module, |any| any.downcast_ref::<Mixed>().expect("a Mixed"))
    }

    #[test]
    fn what_is_stored_of_it_is_what_is_stored_of_the_module() {
        let device = Device::flex();
        let module = mixed(&device);
        let hidden = erased(module.clone());
        assert_eq!(hidden.width(), 5);
        assert_eq!(Module::num_params(&hidden), Module::num_params(&module));
        let same = |hidden: Erased<dyn Width>, module: Mixed| {
            let [ours, theirs] = [hidden.into_record(), module.into_record()];
            assert_eq!(ours.into_bytes().unwrap(), theirs.into_bytes().unwrap());
        };
        same(hidden.clone(), module.clone());

        // Loading other weights replaces the old ones, in the erased module as in the plain one.
        let other = mixed(&device).into_record().into_bytes().unwrap();
        let read = || ModuleRecord::from_bytes(other.clone()).unwrap();
        let before = hidden.clone().into_record().into_bytes().unwrap();
        let hidden = hidden.load_record(read());
        assert_ne!(hidden.clone().into_record().into_bytes().unwrap(), before);
        same(hidden, module.load_record(read()));
    }

    #[test]
    fn gradients_reach_the_parameters_and_validation_turns_them_off() {
        let device = Device::flex().autodiff();
        let hidden = erased(mixed(&device));
        let view = |hidden: &Erased<dyn Width>| {
            let any = hidden.module.as_any();
            any.downcast_ref::<Mixed>().unwrap().linear.clone()
        };
        let x = Tensor::<2>::random([2, 3], Distribution::Default, &device);
        let gradients = view(&hidden).forward(x).sum().backward();
        assert!(view(&hidden).weight.grad(&gradients).is_some());
        let valid = hidden.valid();
        assert!(!view(&valid).weight.val().is_autodiff());
        assert!(view(&valid.train()).weight.val().is_autodiff());
        assert_eq!(hidden.devices(), [Device::flex()]);
    }
}
