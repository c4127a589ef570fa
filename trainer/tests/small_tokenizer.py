"""A fast tokenizer's folder as save_pretrained() writes it, trained here on a few sentences."""

import json
import random

WORDS = (
    "a the packs samples window lane order of trainer rank reads writes record token learns from question answer "
    "why how because never always long short quick slow weather numbers letters grün naïve été 12 7 345 ? ! . ,"
).split()

# ChatML. Each turn is written the same whatever follows, so spans can be found by prefixes.
PLAIN = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
# The same with marks.
MARKED = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' }}"
    "{% if m['role'] == 'assistant' %}{% generation %}{{ m['content'] + '<|im_end|>' }}{% endgeneration %}"
    "{% else %}{{ m['content'] + '<|im_end|>' }}{% endif %}{{ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
# Leaves out what an earlier assistant thought, once others follow: no prefix of it is a chat.
FORGETFUL = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' }}"
    "{% if m['role'] == 'assistant' and not loop.last %}{{ m['content'].split('</think>')[-1] }}"
    "{% else %}{{ m['content'] }}{% endif %}{{ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
STRICT = (
    "{% if messages[0]['role'] != 'user' %}{{ raise_exception('a chat begins with the user') }}{% endif %}"
) + PLAIN


def text(rng, words):
    return " ".join(rng.choice(WORDS) for _ in range(words))


def save_tokenizer(folder, template=PLAIN, **config):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<|im_start|>", "<|im_end|>", "<s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    rng = random.Random(3)
    tokenizer.train_from_iterator((text(rng, 30) for _ in range(300)), trainer)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "<|im_end|>", **config}
    if template is not None:
        about["chat_template"] = template
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    return folder
