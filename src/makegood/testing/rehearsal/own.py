"""What ends a rehearsal after one run: an own function that met another than a fake service, or a mistake."""

from makegood.errors import PlanError
from makegood.testing.rehearsal import outside
from makegood.testing.rehearsal.trial import Trial


def check(trial: Trial) -> None:
    """Raises PlanError where an own function reached for anything but a fake service, for none, or for what
    it does not have; and where a mistake in the user's code came to light."""
    outside.check(trial)
    if made := trial.scene.mistakes.made:
        plan = trial.plan.plan
        told = [
            f"{one.error} at {one.where}, {'once in a call' if times == 1 else f'{times} times in calls'} of "
            f"{outside.named(plan.steps[plan.index_of[one.step]], one.kind)}"
            for one, times in made.items()
        ]
        raise PlanError(
            f"{'; '.join(told)} ({trial.case}). This is a mistake in the code, and no word of a service; the "
            "rehearsal ended after this run. A function that is to say that nobody knows raises Unknown, a "
            "probe CannotTell"
        )
