"""Makes a tiny random Llama and a tokenizer for it: `python tiny_model.py DIRECTORY`.

Runs in the serving system's own environment. Where torch is missing (a mock engine needs no weights) only the
configuration and the tokenizer are written.
"""

import importlib.util
import sys
import sysconfig
from pathlib import Path

VOCABULARY = 2048
LENGTH = 4096
SPECIAL = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


def tokenizer():
    """A byte-level BPE trained on the interpreter's own library."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL.values()),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:150]
    made.train([str(path) for path in sources], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=LENGTH, **SPECIAL)
    fast.chat_template = TEMPLATE
    return fast


def main(directory):
    from transformers import LlamaConfig

    fast = tokenizer()
    fast.save_pretrained(directory)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=LENGTH,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=3,
        tie_word_embeddings=False,
        architectures=["LlamaForCausalLM"],
    )
    config.save_pretrained(directory)
    if importlib.util.find_spec("torch") is None:
        return
    import torch
    from transformers import LlamaForCausalLM

    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(directory)


if __name__ == "__main__":
    main(sys.argv[1])
