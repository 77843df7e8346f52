"""A judge of pairs that may be shown its own answer to the question as the correct one."""

from judgeboard.domain import JudgeVersion
from judgeboard.errors import BadInput
from judgeboard.judges.model_judge import ModelJudge
from judgeboard.judges.options import DEFAULT_DOMAIN, DEFAULT_MAX_OUTPUT
from judgeboard.judges.pairwise import PairwiseJudge
from judgeboard.judges.self_solve import DEFAULT_SOLVE_OUTPUT, TEMPERATURE, SelfSolver
from judgeboard.llm.endpoint import ModelEndpoint

SELF_REFERENCE = "ssr"
"""The kind of every judge version that samples its own answers beside comparing pairs."""


class SelfReferenceJudge(ModelJudge):
    """Solves a question ``k`` times, and compares its two answers with or without the outcome as reference.

    Source: "Selective Self-Reference for LLM-as-a-Judge" (FARS, Analemma). Samples and verdicts are of one judge
    version: with other samples the judge may be shown another reference.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        *,
        k: int = 5,
        name: str = SELF_REFERENCE,
        temperature: float = TEMPERATURE,
        domain: str = DEFAULT_DOMAIN,
        max_output: int = DEFAULT_MAX_OUTPUT,
        solve_output: int = DEFAULT_SOLVE_OUTPUT,
    ) -> None:
        """Make a judge of a model.

        Args:
            endpoint: Who is asked, for samples and verdicts; closed with the judge.
            k: Samples of each question.
            name: What people call the judge.
            temperature: Of the samples, 0 to 2; verdicts are asked for at 0.
            domain: What the prompts say the model is an expert of.
            max_output: Tokens a verdict may have.
            solve_output: Tokens a sample may have.

        Raises:
            BadInput: ``k`` or the temperature is outside its range.
        """
        if k < 1:
            raise BadInput(f"--k must be at least 1, not {k}")
        if not 0 <= temperature <= 2:
            raise BadInput(f"--temperature must lie from 0 to 2, not {temperature:g}")
        super().__init__(endpoint)
        self.k = k
        self.price = endpoint.price
        self.solver = SelfSolver(endpoint, temperature=temperature, domain=domain, max_output=solve_output)
        self.pairwise = PairwiseJudge(endpoint, name=name, domain=domain, max_output=max_output)
        verdicts = self.pairwise.version
        sampling = {"samples": k, "sample_temperature": temperature, "sample_max_output": solve_output}
        self.version = JudgeVersion(
            name=name,
            kind=SELF_REFERENCE,
            model=verdicts.model,
            params={**verdicts.params, **sampling},
            prompt=f"{self.solver.prompt}\n{verdicts.prompt}",
            scale=verdicts.scale,
        )
