//! The learning rate of every step.

use burn::lr_scheduler::LrSchedulerConfig;
use burn::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
use burn::lr_scheduler::linear::LinearLrSchedulerConfig;
use burn::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::lr_scheduler::sequential::SequentialLrSchedulerConfig;

use crate::ask::Recipe;
use crate::error::LabError;

/// The learning rate of every step: it rises linearly to its peak, then falls along half a cosine to
/// a hundredth of it.
pub(super) fn schedule(recipe: &Recipe, steps: usize) -> Result<ModuleLrScheduler, LabError> {
    let rise = recipe.warm_up(steps);
    let fall = steps.saturating_sub(rise).max(1);
    let peak = recipe.learning_rate;
    let up = LinearLrSchedulerConfig::new(peak / rise as f64, peak, rise);
    let down = CosineAnnealingLrSchedulerConfig::new(peak, fall).with_min_lr(peak / 100.0);
    let phases = vec![
        LrSchedulerConfig::Linear(up),
        LrSchedulerConfig::Cosine(down),
    ];
    SequentialLrSchedulerConfig::new(phases, vec![rise])
        .init()
        .map_err(LabError::Usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(steps: usize) -> Vec<f64> {
        let mut schedule = schedule(&Recipe::default(), steps).unwrap();
        (0..steps).map(|_| schedule.step().base()).collect()
    }

    #[test]
    fn the_rate_rises_to_its_peak_and_falls_to_a_hundredth() {
        let rates = rates(1000);
        let peak = Recipe::default().learning_rate;
        assert!(rates[0] < peak / 50.0);
        assert!((rates[99] - peak).abs() < peak * 0.02, "{}", rates[99]);
        assert!(rates[..99].is_sorted() && rates[101..].is_sorted_by(|a, b| a >= b));
        assert!(rates[999] < peak * 0.011, "{}", rates[999]);
        assert!(
            rates
                .iter()
                .all(|rate| *rate > 0.0 && *rate <= peak * 1.000_001)
        );
    }

    #[test]
    fn short_runs_have_a_schedule_too() {
        for steps in 1..5 {
            assert!(rates(steps).iter().all(|rate| *rate > 0.0), "{steps} steps");
        }
    }
}
