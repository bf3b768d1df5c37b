"""How formulas read in a chat."""

from adapters.markdown.formula import to_unicode
from tests.fakes.table_test import table_test


@table_test(
    ("latex", "shown"),
    [
        ("E = mc^2", "E = mc²"),
        (r"a_n = \frac{a_1 + 1}{2}", "a_n = (a₁ + 1)/2"),
        (r"\frac{1}{2}", "½"),
        (r"\int_0^\infty e^{-x^2} dx = \frac{\sqrt{\pi}}{2}", "∫₀^∞ e^(-x²) dx = (√π̅)/2"),
        (r"\sum_{i=1}^{n} i = \frac{n(n+1)}{2}", "∑ᵢ₌₁ⁿ i = (n(n+1))/2"),
        (r"\alpha \leq \beta \neq \gamma", "α ≤ β ≠ γ"),
        (r"x \in \mathbb{R}", "x ∈ ℝ"),
        (r"P(A \mid B) = \frac{P(B \mid A) P(A)}{P(B)}", "P(A ∣ B) = (P(B ∣ A) P(A))/(P(B))"),
        (r"\lim_{x \to 0} \frac{\sin x}{x} = 1", "lim_(x → 0) (sin x)/x = 1"),
        (r"\vec{v} \cdot \vec{w}", "v⃗ ⋅ w⃗"),
        (r"\hat{y} = \bar{x} + \tilde{A}", "ŷ = x̄ + Ã"),
        (r"\sqrt[3]{27} = 3", "∛2̅7̅ = 3"),
        (r"\sqrt[n]{x}", "ⁿ√x̅"),
        (r"\text{speed} = 5\,\text{m/s}", "speed = 5 m/s"),
        (r"x_{i+1} = x_i - \eta \nabla f(x_i)", "xᵢ₊₁ = xᵢ - η ∇ f(xᵢ)"),
        (r"A^T A^{-1}", "Aᵀ A⁻¹"),
        (r"10^{-6}", "10⁻⁶"),
        (r"\Delta x \approx 5 \%", "Δ x ≈ 5 %"),
        (r"\left( \frac{a}{b} \right)^n", "( a/b )ⁿ"),
        (r"\mathrm{CO_2}", "CO₂"),
        (r"a \times b \div c", "a × b ÷ c"),
        (r"90^\circ", "90°"),
        (r"e^{i\pi} + 1 = 0", "e^(iπ) + 1 = 0"),
        (r"\binom{n}{k}", "C(n,k)"),
        (r"\log_2 n", "log₂ n"),
        (r"\{1, 2, 3\}", "{1, 2, 3}"),
        (r"\lfloor x \rfloor", "⌊ x ⌋"),
        (r"\operatorname{softmax}(x_i)", "softmax(xᵢ)"),
        (r"\begin{cases} 1 & x > 0 \\ 0 & x \le 0 \end{cases}", "⎧ 1, x > 0\n⎩ 0, x ≤ 0"),
        (r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "a = b\nc = d"),
        (r"\weird{thing}", None),
    ],
)
def test_a_formula_reads_as_people_would_type_it(latex: str, shown: str | None) -> None:
    assert to_unicode(latex) == shown
