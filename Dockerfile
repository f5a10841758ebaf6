# Everything that gin does, compiled ahead; without further words, the table in the browser:
#
#   docker build -t ginenv .        (--build-arg TORCH_INDEX=URL: another package index for torch alone, such as one of CPU builds)
#   docker run --rm -p 8377:8377 -v ginenv:/home/gin/.local/share/ginenv ginenv
#   docker run --rm ginenv evaluate network simple --hands 200
#
# The table prints its address with a token; from outside of the container the machine in it is localhost. Players, games and what levels
# have learned stay in the volume. Paths are relative, so that tests/test_image.py can take the same steps without Docker.

FROM python:3.13-slim AS build
WORKDIR build
COPY . .
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir wheels .

FROM python:3.13-slim
ARG TORCH_INDEX=
RUN useradd --create-home gin
WORKDIR home/gin
COPY --from=build build/wheels build/constraints.txt ./
RUN python -m pip install --no-cache-dir --constraint constraints.txt ${TORCH_INDEX:+--index-url $TORCH_INDEX} torch \
 && python -m pip install --no-cache-dir --constraint constraints.txt "$(ls *.whl)[train,web]" \
 && rm *.whl constraints.txt
USER gin
# A volume that is mounted there belongs to its owner.
RUN mkdir -p -m 700 .local/share/ginenv
RUN gin warm
EXPOSE 8377
ENTRYPOINT ["gin"]
CMD ["web", "--host", "0.0.0.0", "--no-browser"]
