"""What people would use instead, in NumPy and PyTorch, timed on request.

One process serves a whole bench, so that its turns interleave with ours. It reads a request a line
and answers with a line, both JSON:

    {"case": "table", "with": "numpy", "rows": 5000, "d_model": 512, "repeat": 1}
    {"seconds": 0.041, "threads": 1, "idle_cpu": 0.0}

"seconds" is the mean of the calls asked for, after one that is not counted. A case is set up when it is
first asked for. {"case": "versions"}, {"case": "memory", ...} and {"case": "save", ...} (a table's float32
entries, to a file) do not time anything. A case that does not work here answers {"error": "..."}.

While it waits it must not take a core from us. The threads of OpenMP, which PyTorch uses, go on
spinning after their work, so an answer is sent only when they have gone to sleep; "idle_cpu" is
the processor time spent between the last answer and this request, which shows it.
"""

import json
import math
import sys
import time

import numpy
import torch

import causal_step
import decode
import reference
import train_step

TABLES = {
    "numpy": lambda rows, d_model: numpy_table(rows, d_model),
    "torch": lambda rows, d_model: torch_table(rows, d_model),
    "torch.compile": torch.compile(lambda rows, d_model: torch_table(rows, d_model), dynamic=False),
}


def numpy_table(rows, d_model):
    """As in the tutorials; NumPy computes it in float64."""
    position = numpy.arange(rows)[:, None]
    omega = numpy.exp(numpy.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    table = numpy.zeros((rows, d_model), dtype=numpy.float32)
    table[:, 0::2] = numpy.sin(position * omega)
    table[:, 1::2] = numpy.cos(position * omega)
    return table


def torch_table(rows, d_model):
    """The `PositionalEncoding` of PyTorch's own tutorial; PyTorch computes it in float32."""
    position = torch.arange(rows).unsqueeze(1)
    omega = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    table = torch.zeros(rows, d_model)
    table[:, 0::2] = torch.sin(position * omega)
    table[:, 1::2] = torch.cos(position * omega)
    return table


def table(request):
    build, rows, d_model = TABLES[request["with"]], request["rows"], request["d_model"]
    threads = 1 if request["with"] == "numpy" else torch.get_num_threads()
    return (lambda: build(rows, d_model)), threads


def add(request):
    """`x + pe`, or `x += pe`, of a [batch, seq, d_model] input and a [1, seq, d_model] table."""
    batch, seq, d_model = request["shape"]
    x, pe = torch.zeros(batch, seq, d_model), torch_table(seq, d_model)[None]
    out_of_place = lambda: x + pe
    calls = {
        "x + pe": out_of_place,
        "x += pe": lambda: x.add_(pe),
        "torch.compile": torch.compile(out_of_place, dynamic=False),
    }
    return torch.inference_mode()(calls[request["with"]]), torch.get_num_threads()


def learned(request):
    """`x + embedding(positions)` and its gradient, as a model with learned positions does it."""
    batch, seq, d_model = request["shape"]
    x = torch.zeros(batch, seq, d_model)
    embedding = torch.nn.Embedding(request["max_len"], d_model)
    positions = torch.arange(seq)[None]

    def step():
        embedding.weight.grad = None
        (x + embedding(positions)).sum().backward()

    return step, torch.get_num_threads()


def rotary(request):
    """`q * cos + rotate_half(q) * sin` of a [batch, heads, seq, d_head] input, cosines and sines as wide
    as a head and made once."""
    _, _, seq, d_head = request["shape"]
    q = torch.zeros(request["shape"])
    angles = torch.arange(seq)[:, None] * 10000.0 ** (-torch.arange(0, d_head, 2) / d_head)
    halves = request["layout"] == "halves"
    angles = torch.cat((angles, angles), -1) if halves else angles.repeat_interleave(2, -1)
    cos, sin = angles.cos(), angles.sin()
    turned = half_turned if halves else pairs_turned
    call = lambda: q * cos + turned(q) * sin
    call = torch.compile(call, dynamic=False) if request["with"] == "torch.compile" else call
    return torch.inference_mode()(call), torch.get_num_threads()


def half_turned(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


def pairs_turned(x):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((-b, a), -1).flatten(-2)


def alibi(request):
    """The bias [1, heads, seq, seq] from the slopes and the distances, as a model makes it."""
    heads, seq = request["heads"], request["seq"]
    slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads)

    def build():
        at = torch.arange(seq)
        return slopes[None, :, None, None] * -(at[None, :] - at[:, None]).abs()

    return torch.inference_mode()(build), torch.get_num_threads()


def training(request):
    """A training step of the laboratory's encoder: see train_step.py."""
    step = train_step.prepare(request["size"], request["with"] == "compiled")
    return step, torch.get_num_threads()


def causal(request):
    """A training step of a causal language model: see causal_step.py."""
    step = causal_step.prepare(request["sizes"], request["shape"], request["with"])
    return step, torch.get_num_threads()


def decoding(request):
    """Decoding with a cache: see decode.py."""
    return decode.prepare(request["sizes"], request["with"], *request["shape"]), torch.get_num_threads()


CASES = {
    "table": table,
    "add": add,
    "learned": learned,
    "rotary": rotary,
    "alibi": alibi,
    "train_step": training,
    "causal_step": causal,
    "decode": decoding,
}
# Steps for which our side keeps the memory that tensors free too.
STEPS = ("train_step", "causal_step", "decode")
READY = {}


def prepared(request):
    """The call of a request, set up and called once, and its number of threads."""
    key = json.dumps({k: v for k, v in request.items() if k != "repeat"}, sort_keys=True)
    if key not in READY:
        if request["case"] in STEPS:
            reference.keep_freed_memory()
        call, threads = CASES[request["case"]](request)
        call()
        READY[key] = call, threads
    return READY[key]


def measure(request):
    call, threads = prepared(request)
    repeat = request["repeat"]
    call()
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    return {"seconds": (time.perf_counter() - start) / repeat, "threads": threads}


def memory(request):
    """The most bytes that some steps made resident, less those that were resident before the model was made. Ask a process that has
    done nothing else."""
    before = resident("VmRSS")
    step = causal_step.prepare(request["sizes"], request["shape"], request["with"])
    for _ in range(request["steps"]):
        step()
    return {"bytes": resident("VmHWM") - before}


def resident(name):
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith(name))


def save(request):
    build = TABLES[request["with"]](request["rows"], request["d_model"])
    numpy.asarray(build, dtype=numpy.float32).tofile(request["path"])
    return {}


def versions(_):
    python = sys.version.split()[0]
    parts = f"Python {python}, NumPy {numpy.__version__}, PyTorch {torch.__version__}"
    return {"versions": f"{parts} on {torch.get_num_threads()} threads"}


UNTIMED = {"memory": memory, "save": save, "versions": versions}


def answer(request):
    try:
        if request["case"] in UNTIMED:
            return UNTIMED[request["case"]](request)
        return measure(request)
    except Exception as error:  # whatever a compiler or an allocator throws is the answer
        lines = str(error).strip().splitlines() or [""]
        return {"error": f"{type(error).__name__}: {lines[0]}"}


def settle():
    """Waits until no thread of this process has run for a while."""
    quiet = 0
    while quiet < 3:
        before = time.process_time()
        time.sleep(0.003)
        quiet = quiet + 1 if time.process_time() - before < 0.0003 else 0


def main():
    spent = time.process_time()
    for line in sys.stdin:
        idle = time.process_time() - spent
        reply = answer(json.loads(line))
        settle()
        spent = time.process_time()
        print(json.dumps(reply | {"idle_cpu": idle}), flush=True)


main()
