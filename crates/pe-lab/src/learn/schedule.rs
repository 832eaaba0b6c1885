//! The learning rate of every step.

use burn::lr_scheduler::LrSchedulerConfig;
use burn::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
use burn::lr_scheduler::linear::LinearLrSchedulerConfig;
use burn::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::lr_scheduler::sequential::SequentialLrSchedulerConfig;

use crate::ask::{Recipe, Schedule};
use crate::error::LabError;

/// The learning rate of every step: it rises linearly to its peak, then goes on as the recipe says.
pub(super) fn schedule(recipe: &Recipe, steps: usize) -> Result<ModuleLrScheduler, LabError> {
    let rise = recipe.warm_up(steps);
    let fall = steps.saturating_sub(rise).max(1);
    let peak = recipe.learning_rate;
    let up = LinearLrSchedulerConfig::new(peak / rise as f64, peak, rise);
    let end = peak / 100.0;
    let linear = |to| LrSchedulerConfig::Linear(LinearLrSchedulerConfig::new(peak, to, fall));
    let down = match recipe.schedule {
        Schedule::Cosine => LrSchedulerConfig::Cosine(
            CosineAnnealingLrSchedulerConfig::new(peak, fall).with_min_lr(end),
        ),
        Schedule::Linear => linear(end),
        Schedule::Constant => linear(peak),
    };
    let phases = vec![LrSchedulerConfig::Linear(up), down];
    SequentialLrSchedulerConfig::new(phases, vec![rise])
        .init()
        .map_err(LabError::Usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(schedule: Schedule, steps: usize) -> Vec<f64> {
        let recipe = Recipe {
            schedule,
            ..Recipe::default()
        };
        let mut schedule = super::schedule(&recipe, steps).unwrap();
        (0..steps).map(|_| schedule.step().base()).collect()
    }

    #[test]
    fn after_the_warm_up_it_falls_linearly_or_stays() {
        let peak = Recipe::default().learning_rate;
        let [cosine, linear, constant] =
            [Schedule::Cosine, Schedule::Linear, Schedule::Constant].map(|of| rates(of, 1000));
        assert!(cosine[..99] == linear[..99] && cosine[..99] == constant[..99]);
        let is_peak = |rate: &f64| (rate - peak).abs() < 1e-12;
        assert!(constant[100..].iter().all(is_peak));
        // Half of the way between the warm-up and the end, and the end.
        assert!((linear[550] / peak - 0.505).abs() < 0.01, "{}", linear[550]);
        assert!((linear[999] / peak - 0.01).abs() < 0.005, "{}", linear[999]);
        let mut steps = linear[101..].windows(2).map(|pair| pair[0] - pair[1]);
        assert!(steps.all(|step| (step - 0.99 * peak / 900.0).abs() < 1e-9));
    }

    #[test]
    fn the_rate_rises_to_its_peak_and_falls_to_a_hundredth() {
        let rates = rates(Schedule::Cosine, 1000);
        let peak = Recipe::default().learning_rate;
        assert!(rates[0] < peak / 50.0);
        assert!((rates[99] - peak).abs() < peak * 0.02, "{}", rates[99]);
        assert!(rates[..99].is_sorted() && rates[101..].is_sorted_by(|a, b| a >= b));
        assert!(rates[999] < peak * 0.011, "{}", rates[999]);
        let most = peak * 1.000_001;
        assert!(rates.iter().all(|rate| *rate > 0.0 && *rate <= most));
    }

    #[test]
    fn short_runs_have_a_schedule_too() {
        for steps in 1..5 {
            let rates = rates(Schedule::Cosine, steps);
            assert!(rates.iter().all(|rate| *rate > 0.0), "{steps} steps");
        }
    }
}
