"""How is a model asked again? Requests without what a provider runs itself, sent to the endpoint a person named."""
