"""The states of a recurrent network."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def recurrent_states(
    X: Float[Tensor, "length d_in"],
    W: Float[Tensor, "d_in d_hidden"],
    U: Float[Tensor, "d_hidden d_hidden"],
) -> Float[Tensor, "length d_hidden"]:
    """Read a sentence word by word.

    Args:
        X: the words, a row for each.
        W: by which a word is multiplied.
        U: by which the state before is multiplied.

    Returns:
        The state after each word, h_t = tanh(x_t W + h_{t-1} U). Before the
        first word the state is zero; it is not returned.
    """
    ### BEGIN SOLUTION
    h = torch.zeros(U.size(0))
    states = []
    for x in X:
        h = (x @ W + h @ U).tanh()
        states.append(h)
    return torch.stack(states)
    ### END SOLUTION


@other
def states_by_module(X, W, U):
    rnn = nn.RNNCell(*W.shape, bias=False)
    weights = {"weight_ih": W.T, "weight_hh": U.T}
    h, states = torch.zeros(1, len(U)), []
    for x in X.split(1):
        h = torch.func.functional_call(rnn, weights, (x, h))
        states.append(h)
    return torch.cat(states)


@other
def states_in_one_product(X, W, U):
    joined = torch.cat([W, U])
    states = [torch.zeros_like(joined[0])]
    for t in range(X.size(0)):
        states += [torch.tanh(torch.cat([X[t], states[t]]) @ joined)]
    return torch.stack(states[1:])


def draw_sentence(draw: Draw) -> Case:
    words, width, hidden = draw.size(2, 5), draw.size(1, 4), draw.size(2, 4)
    return case(
        "random numbers",
        draw.normal(words, width),
        draw.normal(width, hidden),
        draw.normal(hidden, hidden),
    )


ONE = torch.tensor([[1.0]])
W = torch.tensor([[1.0, -0.5], [0.5, 1.0]])
U = torch.tensor([[0.6, 0.2], [-0.2, 0.6]])

EXERCISE = exercise_of(
    recurrent_states,
    section="01_sequence_to_sequence#a-recurrent-network-reads",
    points=1,
    cases=[
        case("one word of one number", ONE, ONE, ONE),
        case("two words of one number", ONE.repeat(2, 1), ONE, 0.5 * ONE),
        case("a negative word", -2 * ONE, ONE, ONE),
        case("one word", torch.tensor([[1.0, 0.0]]), W, U),
        case(
            "cats drink milk",
            torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]),
            W,
            U,
        ),
        case("a wider state", torch.ones(3, 1), torch.ones(1, 2), U),
    ],
    draw=draw_sentence,
)
