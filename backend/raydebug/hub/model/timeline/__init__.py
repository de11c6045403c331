"""Every attempt of every task, held as columns, and what views ask of them. Pure: no Ray, no network, no waiting."""
