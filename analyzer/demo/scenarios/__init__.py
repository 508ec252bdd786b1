"""A prefill/decode deployment in miniature, played step by step with something wrong in it.

`setup` says what is built, `deployment` lets requests arrive and waits for what follows, `spans` and
`gauges` say it as instrumented processes would, `catalogue` holds the scenarios. Nothing is labelled: a
scenario breaks a part (a worker, a link, a lease, a client), and the verdict has to find out.
"""
